package forecast

import (
	"fmt"
	"math"
	"time"
)

// basis is what the times come from.
type basis struct {
	rates      rates
	past       evidence
	clock      clock
	trajectory trajectory
	asked      Options
}

// words returns the basis as sentences without a full stop, the weightiest first.
func (b basis) words() (list []string) {
	if b.rates.known == 0 {
		list = append(list, "no migration in the change log to measure: assumed are 4 to 64 MiB/s for a pair of shards")
	} else {
		list = append(list, fmt.Sprintf("%d migrations in the last %s: a median of %s each, %s while copying",
			b.rates.known, Span(max(b.rates.span, time.Minute)), Span(b.rates.median), rateText(b.rates.perSecond)))
	}
	if f := b.rates.failing; f >= 0.005 {
		list = append(list, fmt.Sprintf("%.0f %% of the migrations failed, and are taken to go on failing so", 100*f))
	}
	if s := b.clock.settings; s.Window != nil || len(s.Days) > 0 {
		list = append(list, fmt.Sprintf("rounds begin in the balancer's window only, on the clock of %s", b.clockText()))
	}
	return list
}

func (b basis) clockText() string {
	switch {
	case b.asked.Location != nil:
		return b.asked.Location.String()
	case b.past.offset != nil:
		return "the config servers (" + b.clock.in.String() + ")"
	}
	return "UTC, as no log tells that of the config servers"
}

func rateText(perSecond float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB/s"}, {1 << 20, "MiB/s"}, {1 << 10, "KiB/s"}} {
		if perSecond >= unit.size {
			return fmt.Sprintf("%.3g %s", perSecond/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f B/s", perSecond)
}

// Span returns a time in words, as exact as forecasts are: 3 h 20 min, 12 min, 5 d 4 h.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		step := time.Minute
		if d >= 2*time.Hour {
			step = 5 * time.Minute
		}
		d = d.Round(step)
		if minutes := int(d.Minutes()) % 60; minutes > 0 {
			return fmt.Sprintf("%d h %d min", int(d.Hours()), minutes)
		}
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	hours := int(math.Round(d.Hours()))
	if hours%24 == 0 || hours > 30*24 {
		return fmt.Sprintf("%.0f d", d.Hours()/24)
	}
	return fmt.Sprintf("%d d %d h", hours/24, hours%24)
}
