package humanize_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/humanize"
	"shardsh/balancer/timespan"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 20 << 20: "20 MiB", 3137526: "2.99 MiB",
		384<<20 - 1: "383.99 MiB", 1<<30 + 1<<29: "1.5 GiB", 1 << 40: "1 TiB", 5 << 60: "5120 PiB", -2048: "-2 KiB",
	} {
		if got := humanize.Bytes(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
	if got := humanize.Rate(4.25 * (1 << 20)); got != "4.25 MiB/s" {
		t.Errorf("the rate is %q", got)
	}
}

// A size below a whole number of units never reads like it.
func TestBytesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1023).Draw(t, "limit") << (10 * rapid.IntRange(1, 4).Draw(t, "unit"))
		n := limit - rapid.Int64Range(1, limit).Draw(t, "less")
		if got, most := humanize.Bytes(n), humanize.Bytes(limit); got == most {
			t.Errorf("%d reads like %d: %s", n, limit, got)
		}
	})
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		n          int64
		noun, want string
	}{
		{0, "chunk", "0 chunks"}, {1, "chunk", "1 chunk"}, {2, "entry", "2 entries"}, {3, "key", "3 keys"}, {4, "day", "4 days"},
		{2, "batch", "2 batches"}, {2, "index", "2 indexes"}, {1_000_000, "chunk", "1,000,000 chunks"}, {-1234, "move", "-1,234 moves"},
	} {
		if got := humanize.Count(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
	if one, two := humanize.Times(1), humanize.Times(2); one != "once" || two != "2 times" {
		t.Error(one, two)
	}
	if got := humanize.Percent(0.125); got != "12.5%" {
		t.Error(got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 19 * time.Millisecond: "19ms", 1500 * time.Millisecond: "1.5s", 2 * time.Second: "2s", 42500 * time.Millisecond: "42s",
		time.Minute: "1m", 168 * time.Second: "2m48s", time.Hour: "1h", 330 * time.Minute: "5h30m", 47*time.Hour + 59*time.Minute: "47h59m",
		48 * time.Hour: "2d", 76 * time.Hour: "3d4h", -5 * time.Minute: "-5m",
	} {
		if got := humanize.Duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// What is printed can be entered: a flag reads it back, to the unit that is shown.
func TestDurationIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(1000*24*time.Hour)).Draw(t, "d"))
		text := humanize.Duration(d)
		back, err := timespan.Parse(text)
		if err != nil || humanize.Duration(back) != text {
			t.Errorf("%v is written %s, and read as %v, %v", d, text, back, err)
		}
	})
}

func TestTime(t *testing.T) {
	if got := humanize.Time(time.Date(2026, 3, 2, 14, 5, 59, 0, time.UTC)); got != "2026-03-02 14:05 UTC" {
		t.Error(got)
	}
}
