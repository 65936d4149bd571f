package diagnosis

import (
	"fmt"

	"shardsh/balancer/catalog"
)

// roundsLookedAt is how many of the newest rounds Rounds tells about.
const roundsLookedAt = 5

// whatRound is what the action log calls an entry about a round.
const whatRound = "balancer.round"

// Rounds is what the action log says of the newest rounds of the balancer.
type Rounds struct {
	// Looked is how many there are, at most five; Failed how many of them ended
	// with an error.
	Looked, Failed int
	// Newest is the newest that failed; nil when none did.
	Newest *catalog.LogEntry
}

// RoundsOf looks at the newest five rounds. Servers write errorOccurred, once it
// was errorOccured; both count (spec 04 §5.4).
func RoundsOf(s *catalog.Snapshot) Rounds {
	var r Rounds
	log := s.Parts().Actions
	for i := len(log) - 1; i >= 0 && r.Looked < roundsLookedAt; i-- {
		if log[i].What != whatRound {
			continue
		}
		r.Looked++
		if !isSet(log[i].Detail("errorOccured")) && !isSet(log[i].Detail("errorOccurred")) {
			continue
		}
		if r.Failed++; r.Newest == nil {
			r.Newest = &log[i]
		}
	}
	return r
}

// Message returns the error of the newest round that failed; empty when it wrote
// none down.
func (r Rounds) Message() string {
	if r.Newest == nil {
		return ""
	}
	text, _ := r.Newest.Detail("errmsg").StringValueOK()
	return text
}

// ModeOf returns the balancer's mode: as it says itself, else as the settings
// say; empty when neither was read.
func ModeOf(s *catalog.Snapshot) catalog.Mode {
	if mode := s.Parts().Balancer.Mode; mode != "" {
		return mode
	}
	return s.Settings().Mode
}

// balancer finds what there is about the balancer as such.
func (d *Diagnosis) balancer() (list []Finding) {
	if problem := d.Parts().SettingsProblem; problem != "" {
		list = append(list, finding(SettingsUnreadable, Scope{}, "the balancer skips its rounds: "+problem))
	}
	list = append(list, d.mode()...)
	if ModeOf(d.Snapshot) != catalog.ModeOff {
		list = append(list, ofWindow(d.Snapshot)...)
	}
	rounds := RoundsOf(d.Snapshot)
	if rounds.Failed == 0 {
		return list
	}
	f := finding(RoundsFailing, Scope{}, fmt.Sprintf("%d of the last %s of the balancer failed: %s",
		rounds.Failed, counted(int64(rounds.Looked), "round"), orElse(rounds.Message(), "no error was written down")))
	f.Numbers = numbered("failedRounds", int64(rounds.Failed), Number{Name: "rounds", Value: int64(rounds.Looked)})
	f.Since = rounds.Newest.Time
	return append(list, f)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (d *Diagnosis) mode() []Finding {
	sentence := "the balancer is off"
	switch ModeOf(d.Snapshot) {
	case catalog.ModeOff:
		if unknown := d.Settings().UnknownMode; unknown != "" {
			sentence = fmt.Sprintf("the balancer is off, as it does not know its mode %q", unknown)
		}
	case catalog.ModeAutoSplitOnly:
		sentence = "the balancer is in the mode autoSplitOnly, in which nothing moves"
	default:
		return nil
	}
	f := finding(BalancerOff, Scope{}, sentence, "sh.startBalancer()")
	if d.Balanced() {
		f.Severity = Info
	}
	return []Finding{f}
}

// ofWindow takes the clock of the Snapshot for that of the config servers: they
// tell no other.
func ofWindow(s *catalog.Snapshot) []Finding {
	settings, now := s.Settings(), s.Time()
	if now.IsZero() {
		return nil
	}
	opens, ok := settings.NextOpen(now)
	if !ok || opens.Equal(now) {
		return nil
	}
	wait := opens.Sub(now)
	f := finding(WindowShut, Scope{}, fmt.Sprintf(
		"the balancer's window is shut; it opens in %s, at %s if the config servers' clock is %s",
		SpanText(wait), opens.Format("Monday 15:04"), now.Location()))
	f.Due = opens
	f.Numbers = []Number{{Name: "opensIn", Value: int64(wait.Seconds()), Unit: Seconds}}
	return []Finding{f}
}
