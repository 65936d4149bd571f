package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// maxSeenRounds is how many of the newest rounds RoundsOf counts.
const maxSeenRounds = 5

// roundAction is the name of a balancer round in the action log.
const roundAction = "balancer.round"

// Rounds summarizes the newest balancer rounds in the action log.
type Rounds struct {
	// Seen is the number of rounds, at most five. Failed is how many of them ended with an error.
	Seen, Failed int
	// NewestFailed is the newest failed round; nil if none failed. FailingSince is when the first of
	// the consecutive failures up to NewestFailed happened.
	NewestFailed *catalog.LogEntry
	FailingSince time.Time
	// FailedInLog is how many rounds in the whole log failed.
	FailedInLog int
}

// RoundsOf counts the newest five rounds. Servers write errorOccurred; older servers wrote
// errorOccured. Both count (rules/04-objects §5.4).
func RoundsOf(s *catalog.Snapshot) Rounds {
	var r Rounds
	log := s.Parts().Actions
	looked, unbroken := 0, true
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].What != roundAction {
			continue
		}
		looked++
		failed := catalog.IsTruthyInJS(log[i].Detail("errorOccured")) || catalog.IsTruthyInJS(log[i].Detail("errorOccurred"))
		if !failed {
			unbroken = unbroken && r.NewestFailed == nil
			continue
		}
		r.FailedInLog++
		if looked <= maxSeenRounds {
			if r.Failed++; r.NewestFailed == nil {
				r.NewestFailed = &log[i]
			}
		}
		if unbroken && r.NewestFailed != nil {
			r.FailingSince = log[i].Time
		}
	}
	r.Seen = min(looked, maxSeenRounds)
	return r
}

// Message returns the error of the newest failed round; empty when the round recorded none.
func (r Rounds) Message() string {
	if r.NewestFailed == nil {
		return ""
	}
	text, _ := r.NewestFailed.Detail("errmsg").StringValueOK()
	return text
}

// ModeOf returns the balancer's mode as balancerStatus reported it, or else as the settings say. It is
// empty when neither was read.
func ModeOf(s *catalog.Snapshot) catalog.Mode {
	if mode := s.Parts().Balancer.Mode; mode != "" {
		return mode
	}
	return s.Settings().Mode
}

// balancerFindings returns the findings about the balancer itself.
func (d *Diagnosis) balancerFindings() (list []Finding) {
	if problem := d.Parts().SettingsProblem; problem != "" {
		list = append(list, finding(SettingsUnreadable, Scope{}, "the balancer skips its rounds: "+problem,
			settingsRepairs(d.Snapshot)...))
	}
	list = append(list, d.modeFindings()...)
	if ModeOf(d.Snapshot) != catalog.ModeOff {
		list = append(list, windowFindings(d.Snapshot)...)
	}
	rounds := RoundsOf(d.Snapshot)
	if rounds.Failed == 0 {
		return list
	}
	return append(list, roundsFinding(rounds))
}

// sameMachineID are words in the errors of rounds that found two shards with the same machine id: those
// of the server, and those of shardsh.
var sameMachineID = []string{"oids broken after resetting", "same machine id"}

func roundsFinding(rounds Rounds) Finding {
	message := cmp.Or(rounds.Message(), "no error recorded")
	code := RoundsFailing
	if slices.ContainsFunc(sameMachineID, func(words string) bool { return strings.Contains(message, words) }) {
		code = DuplicateMachineIDs
	}
	f := finding(code, Scope{}, fmt.Sprintf("%d of the last %s of the balancer failed: %s",
		rounds.Failed, humanize.Count(int64(rounds.Seen), "round"), message))
	f.Numbers = countNumbers("failedRounds", int64(rounds.Failed), Number{Name: "rounds", Value: int64(rounds.Seen)},
		Number{Name: "failedInLog", Value: int64(rounds.FailedInLog)})
	f.Since = rounds.FailingSince
	return f
}

// settingsRepairs returns the commands that remove the unreadable documents of config.settings, so that
// their defaults apply.
func settingsRepairs(s *catalog.Snapshot) (list []string) {
	for _, doc := range s.Parts().Config["settings"] {
		id, _ := doc.Lookup("_id").StringValueOK()
		settings := catalog.DefaultSettingsOf(s.Release())
		err := settings.Load(func(asked string) (bson.Raw, error) {
			if asked == id {
				return doc, nil
			}
			return nil, nil
		})
		if err != nil {
			list = append(list, fmt.Sprintf(`db.getSiblingDB("config").settings.deleteOne({ _id: %q })`, id))
		}
	}
	return list
}

func (d *Diagnosis) modeFindings() []Finding {
	sentence := "the balancer is off"
	switch ModeOf(d.Snapshot) {
	case catalog.ModeOff:
		if unknown := d.Settings().UnknownMode; unknown != "" {
			sentence = fmt.Sprintf("the balancer is off: unknown mode %q", unknown)
		}
	case catalog.ModeAutoSplitOnly:
		sentence = "the balancer is in mode autoSplitOnly: it moves nothing"
	default:
		return nil
	}
	f := finding(BalancerOff, Scope{}, sentence, "sh.startBalancer()")
	if last := d.Parts().Balancer.Switched; last != nil && !last.On {
		f.Since = last.Time
		if last.Client != "" {
			f.Sentence += "; the command came from " + last.Client
		}
	} else if last != nil {
		f.Sentence += "; the last command turned it on, but config.settings was edited directly since"
	}
	if d.IsBalanced() {
		f.Severity = Info
	}
	return []Finding{f}
}

// windowFindings reports that the window is closed, or that it may be closed.
func windowFindings(s *catalog.Snapshot) []Finding {
	opening, now := s.NextOpening(), s.Time()
	switch {
	case now.IsZero(), !opening.Never && opening.Latest.Equal(now):
		return nil
	case opening.Never:
		sentence := fmt.Sprintf("the balancing window %s does not open within a week", s.WindowText())
		return []Finding{finding(WindowShut, Scope{}, sentence, "sh.balancerWindow()")}
	}
	wait := opening.Latest.Sub(now)
	var f Finding
	switch {
	case s.Parts().Clock.Location == nil:
		f = finding(WindowTimeZoneUnknown, Scope{}, fmt.Sprintf(
			"the balancing window is %s, because the config servers' logs do not show it: it %s",
			s.WindowText(), openingText(opening, now)))
	case !opening.IsExact():
		f = finding(WindowTimeZoneUnknown, Scope{}, fmt.Sprintf(
			"the balancing window is %s, and daylight saving may have begun or ended since: it %s",
			s.WindowText(), openingText(opening, now)))
	default:
		f = finding(WindowShut, Scope{}, fmt.Sprintf("the balancing window %s is closed; it opens in %s, at %s",
			s.WindowText(), humanize.Duration(wait), opening.Latest.Format("Monday 15:04")))
	}
	f.BalancerActsAt = opening.Latest
	f.Numbers = []Number{{Name: "opensIn", Value: int64(wait.Seconds()), Unit: Seconds}}
	if !opening.IsExact() {
		f.Numbers = append(f.Numbers, Number{
			Name: "opensInAtLeast", Value: int64(opening.Earliest.Sub(now).Seconds()), Unit: Seconds,
		})
	}
	return []Finding{f}
}

// openingText returns the times between which a window opens whose time zone is unknown.
func openingText(o catalog.Opening, now time.Time) string {
	latest := humanize.Duration(o.Latest.Sub(now))
	if o.Earliest.Equal(now) {
		return fmt.Sprintf("may be open now, or open in up to %s", latest)
	}
	return fmt.Sprintf("opens in %s to %s", humanize.Duration(o.Earliest.Sub(now)), latest)
}
