package forecast

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"
)

// basis is the evidence for the times of a forecast.
type basis struct {
	rates     rates
	window    balancerWindow
	simulated simulation
	at        time.Time
	deletions int // pending range deletions
}

// minReportedIdle is the idle time in a simulation from which the basis gives a reason.
const minReportedIdle = 5 * time.Minute

// sentences returns the basis as sentences without a full stop, the most important first.
func (b basis) sentences() (list []string) {
	switch {
	case b.rates.measuredCount == 0:
		list = append(list, "no migration in the change log: assuming 4 to 64 MiB/s for a pair of shards")
	case b.rates.copiedTooLittle:
		list = append(list, fmt.Sprintf(
			"%s in the last %s: a median of %s each, but they copied too little to "+
				"tell a rate: assuming 4 to 64 MiB/s for a pair of shards",
			humanize.Count(b.rates.measuredCount, "migration"),
			DurationText(max(b.rates.evidencePeriod, time.Minute)),
			DurationText(b.rates.medianTime),
		))
	default:
		list = append(list, fmt.Sprintf(
			"%s in the last %s: a median of %s each, %s while copying",
			humanize.Count(b.rates.measuredCount, "migration"),
			DurationText(max(b.rates.evidencePeriod, time.Minute)),
			DurationText(b.rates.medianTime),
			humanize.Rate(b.rates.bytesPerSecond),
		))
	}
	if f := b.rates.failureShare; f >= 0.005 {
		list = append(list, humanize.Percent(f)+" of the migrations failed, assumed to stay so")
	}
	if b.deletions > 0 && b.simulated.longestGap(b.at) > minReportedIdle {
		list = append(list, "ranges that a shard gave away lately come back only once it has deleted them, "+
			"orphanCleanupDelaySecs after the move")
	}
	if b.window.settings.HasWindow() {
		list = append(list, "rounds begin only in the balancer's window, in "+b.timeZoneText())
	}
	return list
}

// timeZoneText names the time zone of the window, and the source of that information.
func (b basis) timeZoneText() string {
	switch known := b.window.clock; {
	case known.Location == nil:
		return "a time zone that is unknown, as the config servers' logs do not show it (--time-zone, timeZone name it): " +
			"the range goes from a window that has just opened to one that has just closed"
	case known.SeenAt.IsZero():
		return "the time zone " + known.String()
	case !known.IsKnownAt(b.at):
		return fmt.Sprintf("the time zone of the config servers (%s, as of %s)", known,
			known.SeenAt.UTC().Format("2006-01-02"))
	default:
		return fmt.Sprintf("the time zone of the config servers (%s)", known)
	}
}

// roundDuration rounds a duration to the precision of forecasts: to a second below 100 seconds, to a
// minute below two hours, to five minutes below two days, and to an hour.
func roundDuration(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d
	case d < 100*time.Second:
		return d.Round(time.Second)
	case d < 2*time.Hour:
		return d.Round(time.Minute)
	case d < 48*time.Hour:
		return d.Round(5 * time.Minute)
	}
	return d.Round(time.Hour)
}

// DurationText formats a duration with the precision of forecasts.
func DurationText(d time.Duration) string { return humanize.Duration(roundDuration(d)) }
