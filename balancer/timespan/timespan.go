// Package timespan parses durations.
package timespan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Max is the longest duration that is accepted: a hundred years.
const Max = 100 * 365 * 24 * time.Hour

// Parse parses a duration such as "20ms", "90s", "1h30m", "30d" or "1d12h".
func Parse(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseFloat(days, 64)
	var more time.Duration
	if err == nil && (rest != "" || !found) {
		more, err = time.ParseDuration(rest)
	}
	total := n*float64(24*time.Hour) + float64(more)
	if err != nil || !(n >= 0 && more >= 0 && total <= float64(Max)) {
		return 0, fmt.Errorf(`%q is not a time such as "20ms", "90s", "1h30m" or "2d"`, text)
	}
	return time.Duration(n*float64(24*time.Hour)) + more, nil
}

// ParseCommandLine parses a command-line argument like Parse, but also accepts a plain number, which is
// seconds.
func ParseCommandLine(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return scale(seconds, time.Second, text)
	}
	return Parse(text)
}

// Milliseconds converts a number of milliseconds to a duration.
func Milliseconds(ms float64) (time.Duration, error) {
	return scale(ms, time.Millisecond, strconv.FormatFloat(ms, 'f', -1, 64))
}

func scale(n float64, unit time.Duration, text string) (time.Duration, error) {
	if math.IsNaN(n) || n < 0 || n > float64(Max/unit) {
		return 0, fmt.Errorf("%s is not a time from 0 to a hundred years", text)
	}
	return time.Duration(n * float64(unit)), nil
}
