package catalog

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "17B": 17, "1KiB": 1024, "1.5 MiB": 3 << 19, "10GB": 10e9, " 2TiB ": 2 << 40, "1PB": 1e15,
	} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "NaN", "Inf", "9999999PiB", "1 2", "1XB", "1gib"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
