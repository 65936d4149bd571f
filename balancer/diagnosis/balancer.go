package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// roundsLookedAt is how many of the newest rounds Rounds counts.
const roundsLookedAt = 5

// whatRound is what the action log calls an entry about a round.
const whatRound = "balancer.round"

// Rounds is what the action log says of the newest rounds of the balancer.
type Rounds struct {
	// Looked is how many there are, at most five; Failed how many of them ended
	// with an error.
	Looked, Failed int
	// Newest is the newest that failed; nil when none did. Since is when the first
	// failed of those that failed one after the other up to it.
	Newest *catalog.LogEntry
	Since  time.Time
	// Day is how many of the whole log failed.
	Day int
}

// RoundsOf looks at the newest five rounds. Servers write errorOccurred, once it
// was errorOccured; both count (rules/04-objects §5.4).
func RoundsOf(s *catalog.Snapshot) Rounds {
	var r Rounds
	log := s.Parts().Actions
	looked, unbroken := 0, true
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].What != whatRound {
			continue
		}
		looked++
		failed := isSet(log[i].Detail("errorOccured")) || isSet(log[i].Detail("errorOccurred"))
		if !failed {
			unbroken = unbroken && r.Newest == nil
			continue
		}
		r.Day++
		if looked <= roundsLookedAt {
			if r.Failed++; r.Newest == nil {
				r.Newest = &log[i]
			}
		}
		if unbroken && r.Newest != nil {
			r.Since = log[i].Time
		}
	}
	r.Looked = min(looked, roundsLookedAt)
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

// balancer returns the findings about the balancer itself.
func (d *Diagnosis) balancer() (list []Finding) {
	if problem := d.Parts().SettingsProblem; problem != "" {
		list = append(list, finding(SettingsUnreadable, Scope{}, "the balancer skips its rounds: "+problem,
			mends(d.Snapshot)...))
	}
	list = append(list, d.mode()...)
	if ModeOf(d.Snapshot) != catalog.ModeOff {
		list = append(list, ofWindow(d.Snapshot)...)
	}
	rounds := RoundsOf(d.Snapshot)
	if rounds.Failed == 0 {
		return list
	}
	return append(list, ofRounds(rounds))
}

// sameMachineID are words of the errors of rounds that found two shards with the
// same machine id: the server's, and ours.
var sameMachineID = []string{"oids broken after resetting", "same machine id"}

func ofRounds(rounds Rounds) Finding {
	message := orElse(rounds.Message(), "no error recorded")
	code := RoundsFailing
	if slices.ContainsFunc(sameMachineID, func(words string) bool { return strings.Contains(message, words) }) {
		code = DuplicateMachineIDs
	}
	f := finding(code, Scope{}, fmt.Sprintf("%d of the last %s of the balancer failed: %s",
		rounds.Failed, humanize.Count(int64(rounds.Looked), "round"), message))
	f.Numbers = numbered("failedRounds", int64(rounds.Failed), Number{Name: "rounds", Value: int64(rounds.Looked)},
		Number{Name: "failedInLog", Value: int64(rounds.Day)})
	f.Since = rounds.Since
	return f
}

// mends returns what takes out the documents of config.settings that can't be
// read, which have it that their defaults count.
func mends(s *catalog.Snapshot) (list []string) {
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
	if d.Balanced() {
		f.Severity = Info
	}
	return []Finding{f}
}

// ofWindow says that the window is closed, or that it may be.
func ofWindow(s *catalog.Snapshot) []Finding {
	opening, now := s.NextOpening(), s.Time()
	if now.IsZero() || opening.Never || opening.Latest.Equal(now) {
		return nil
	}
	wait := opening.Latest.Sub(now)
	var f Finding
	switch {
	case s.Parts().Clock.Location == nil:
		f = finding(WindowUnplaced, Scope{}, fmt.Sprintf(
			"the balancing window is %s, as the config servers' logs do not show theirs: it %s",
			s.WindowText(), maybeOpen(opening, now)))
	case !opening.IsExact():
		f = finding(WindowUnplaced, Scope{}, fmt.Sprintf(
			"the balancing window is %s, and daylight saving may have begun or ended since: it %s",
			s.WindowText(), maybeOpen(opening, now)))
	default:
		f = finding(WindowShut, Scope{}, fmt.Sprintf("the balancing window %s is closed; it opens in %s, at %s",
			s.WindowText(), humanize.Duration(wait), opening.Latest.Format("Monday 15:04")))
	}
	f.Due = opening.Latest
	f.Numbers = []Number{{Name: "opensIn", Value: int64(wait.Seconds()), Unit: Seconds}}
	if !opening.IsExact() {
		f.Numbers = append(f.Numbers, Number{
			Name: "opensInAtLeast", Value: int64(opening.Earliest.Sub(now).Seconds()), Unit: Seconds,
		})
	}
	return []Finding{f}
}

// maybeOpen says between what the opening of a window lies that can't be placed.
func maybeOpen(o catalog.Opening, now time.Time) string {
	latest := humanize.Duration(o.Latest.Sub(now))
	if o.Earliest.Equal(now) {
		return fmt.Sprintf("may be open now, or open in up to %s", latest)
	}
	return fmt.Sprintf("opens in %s to %s", humanize.Duration(o.Earliest.Sub(now)), latest)
}
