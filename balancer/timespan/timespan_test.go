package timespan_test

import (
	"testing"
	"time"

	"shardsh/balancer/timespan"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20ms": 20 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour,
		"1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "0s": 0, "0": 0, "2.5h": 150 * time.Minute,
	} {
		if got, err := timespan.Parse(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "90", "-1s", "1d-2h", "-1d", "1h d", "d", "xd", "NaNd", "Infd", "1e300h", "40000d", "1w"} {
		if got, err := timespan.Parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	if got, err := timespan.ParseCommandLine("90"); err != nil || got != 90*time.Second {
		t.Errorf("90 on a command line is %v, %v", got, err)
	}
	if got, err := timespan.Milliseconds(1500); err != nil || got != 1500*time.Millisecond {
		t.Errorf("1500 is %v, %v", got, err)
	}
	for _, text := range []string{"-1", "NaN", "Inf", "1e300"} {
		if got, err := timespan.ParseCommandLine(text); err == nil {
			t.Errorf("%s on a command line is %v", text, got)
		}
	}
}
