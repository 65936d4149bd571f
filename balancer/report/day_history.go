package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// DayHistory summarizes the logs of the last day.
type DayHistory struct {
	// Since and Until are the limits of the day: Until is the time of the Snapshot.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Events are the newest events, the newest first; older ones are left out.
	Events []Event `json:"events"`
	// Moves counts successful moves, Failed counts failed moves.
	Moves  int   `json:"moves"`
	Failed int   `json:"failed"`
	Splits int   `json:"splits"`
	Merges int   `json:"merges"`
	Bytes  int64 `json:"bytes"` // moved
	// Slots are the same numbers in time slots of equal length from Since to Until.
	Slots []Slot `json:"slots"`
	// Failures are the failed moves, grouped, the most frequent first.
	Failures []Failure `json:"failures"`
	// Recent summarizes the moves within the last RecentSpan.
	Recent RecentMoves `json:"recent"`

	medians map[string]time.Duration // median duration of a move, by namespace; "" for all
}

// RecentSpan is the period from which the current rate is computed.
const RecentSpan = 10 * time.Minute

// RecentMoves summarizes the moves of the last RecentSpan.
type RecentMoves struct {
	Moves  int   `json:"moves"`
	Failed int   `json:"failed"`
	Bytes  int64 `json:"bytes"`
}

// Rate returns the moved bytes a second.
func (r RecentMoves) Rate() int64 { return r.Bytes / int64(RecentSpan/time.Second) }

// Slot is a time slot of a DayHistory.
type Slot struct {
	Begin  time.Time `json:"begin"`
	Moves  int       `json:"moves"`
	Failed int       `json:"failed"`
	Bytes  int64     `json:"bytes"`
}

// slotsPerDay is the number of slots of a day, of 15 minutes each.
const slotsPerDay = 96

// Failure is a group of moves between two shards that failed in the same way.
type Failure struct {
	Error string          `json:"error"`
	From  catalog.ShardID `json:"from"`
	To    catalog.ShardID `json:"to"`
	Count int             `json:"count"`
	First time.Time       `json:"first"`
	Last  time.Time       `json:"last"`
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events. A change is a change of the catalog or of the balancer by an operator.
const (
	Moved          EventKind = "moved"
	MoveFailed     EventKind = "moveFailed"
	RoundFailed    EventKind = "roundFailed"
	OperatorChange EventKind = "change"
)

// Event is an entry of the logs.
type Event struct {
	ID   string    `json:"-"`    // the _id of the entry in the log
	Time time.Time `json:"time"` // when the event ended
	Kind EventKind `json:"kind"`
	// What is the name of the event in the log.
	What      string          `json:"what"`
	Namespace string          `json:"ns,omitzero"`
	From      catalog.ShardID `json:"from,omitzero"`
	To        catalog.ShardID `json:"to,omitzero"`
	Min       string          `json:"min,omitzero"`
	Max       string          `json:"max,omitzero"`
	// Lower and Upper are the bounds in the log; nil where there are none.
	Lower     bson.Raw      `json:"-"`
	Upper     bson.Raw      `json:"-"`
	Bytes     int64         `json:"bytes,omitzero"`
	Documents int64         `json:"documents,omitzero"`
	Took      time.Duration `json:"tookNanos,omitzero"`
	Error     string        `json:"error,omitzero"`
}

// maxEvents is the maximum number of events of a DayHistory.
const maxEvents = 200

// operatorEvents are the log entries about actions of operators.
var operatorEvents = []string{
	"addShard", "removeShard.start", "removeShard", "shardCollection.end", "movePrimary.commit", "movePrimary.error",
	"dropCollection", "dropDatabase", "renameCollection.end", "refineCollectionShardKey.end",
	"configureCollectionBalancing", "setPermitMigrations", "balancer.start", "balancer.stop",
}

// NewDayHistory reads the logs of a Snapshot.
func NewDayHistory(s *catalog.Snapshot) DayHistory {
	h := &history{
		DayHistory: DayHistory{Since: s.Time().Add(-catalog.LogSpan), Until: s.Time(), Slots: make([]Slot, slotsPerDay)},
		durations:  map[string][]time.Duration{}, failures: map[Failure]*Failure{},
	}
	for i := range h.Slots {
		h.Slots[i].Begin = h.Since.Add(catalog.LogSpan / slotsPerDay * time.Duration(i))
	}
	for _, entry := range s.Parts().Changes {
		h.readChange(entry)
	}
	for _, entry := range s.Parts().Actions {
		h.readAction(entry)
	}
	return h.finish()
}

// history builds a DayHistory.
type history struct {
	DayHistory
	all             []loggedEvent
	migrationFinder catalog.MigrationFinder
	durations       map[string][]time.Duration
	failures        map[Failure]*Failure
}

// loggedEvent is an event with its log entry. Bounds are formatted only for the newest events.
type loggedEvent struct {
	Event
	entry catalog.LogEntry
}

func (h *history) addEvent(e Event, entry catalog.LogEntry) {
	e.ID, e.Time, e.What = entry.Raw.Lookup("_id").String(), entry.Time, entry.What
	h.all = append(h.all, loggedEvent{e, entry})
}

func (h *history) readChange(e catalog.LogEntry) {
	if m, ended := h.migrationFinder.ReadEntry(e); ended {
		h.addMove(m)
		return
	}
	switch e.What {
	case "split":
		h.Splits++
	case "multi-split":
		if number, _ := e.Detail("number").AsInt64OK(); number == 1 {
			h.Splits++
		}
	case "merge", "autoMerge":
		h.Merges++
	default:
		h.addOperatorChange(e)
	}
}

func (h *history) addOperatorChange(e catalog.LogEntry) {
	if slices.Contains(operatorEvents, e.What) {
		h.addEvent(Event{Kind: OperatorChange, Namespace: e.Namespace}, e)
	}
}

func (h *history) addMove(m catalog.EndedMigration) {
	took, _, _ := m.Durations()
	one := Event{
		Kind: Moved, Namespace: m.Namespace, From: m.From, To: m.To, Took: took, Bytes: m.Bytes, Documents: m.Documents,
		Error: m.Error,
	}
	recent := m.Time.After(h.Until.Add(-RecentSpan))
	slot := h.slot(m.Time)
	if m.Error != "" {
		one.Kind = MoveFailed
		h.Failed++
		slot.Failed++
		h.addFailure(one, m.Time)
		if recent {
			h.Recent.Failed++
		}
		h.addEvent(one, m.LogEntry)
		return
	}
	h.Moves, h.Bytes = h.Moves+1, h.Bytes+one.Bytes
	slot.Moves, slot.Bytes = slot.Moves+1, slot.Bytes+one.Bytes
	if recent {
		h.Recent.Moves, h.Recent.Bytes = h.Recent.Moves+1, h.Recent.Bytes+one.Bytes
	}
	h.durations[m.Namespace] = append(h.durations[m.Namespace], took)
	h.durations[""] = append(h.durations[""], took)
	h.addEvent(one, m.LogEntry)
}

func (h *history) slot(at time.Time) *Slot {
	i := int(at.Sub(h.Since) / (catalog.LogSpan / slotsPerDay))
	return &h.Slots[min(max(i, 0), slotsPerDay-1)]
}

func (h *history) addFailure(e Event, at time.Time) {
	key := Failure{Error: e.Error, From: e.From, To: e.To}
	if h.failures[key] == nil {
		h.failures[key] = &Failure{Error: e.Error, From: e.From, To: e.To, First: at}
	}
	h.failures[key].Count++
	h.failures[key].Last = at
}

func (h *history) readAction(e catalog.LogEntry) {
	if e.What != "balancer.round" {
		h.addOperatorChange(e)
		return
	}
	message := e.DetailText("errmsg")
	failed, _ := e.Detail("errorOccurred").BooleanOK()
	old, _ := e.Detail("errorOccured").BooleanOK() // up to 5.0
	if failed || old || message != "" {
		h.addEvent(Event{Kind: RoundFailed, Error: cmp.Or(message, "no error recorded")}, e)
	}
}

func (h *history) finish() DayHistory {
	slices.Reverse(h.all) // events may have the same time
	slices.SortStableFunc(h.all, func(a, b loggedEvent) int { return b.Time.Compare(a.Time) })
	h.Events = []Event{}
	for _, one := range h.all[:min(len(h.all), maxEvents)] {
		one.Lower, one.Upper = boundOf(one.entry, "min"), boundOf(one.entry, "max")
		one.Min, one.Max = boundText(one.Lower), boundText(one.Upper)
		h.Events = append(h.Events, one.Event)
	}
	h.Failures = []Failure{}
	for _, f := range h.failures {
		h.Failures = append(h.Failures, *f)
	}
	slices.SortFunc(h.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), strings.Compare(a.Error, b.Error),
			strings.Compare(string(a.From), string(b.From)), strings.Compare(string(a.To), string(b.To)))
	})
	h.medians = map[string]time.Duration{}
	for ns, took := range h.durations {
		slices.Sort(took)
		h.medians[ns] = took[len(took)/2]
	}
	return h.DayHistory
}

// MedianDuration returns the median duration of a collection's moves, or of all moves if the collection has
// none; 0 without moves.
func (h DayHistory) MedianDuration(ns string) time.Duration {
	return cmp.Or(h.medians[ns], h.medians[""])
}

// boundOf returns a bound as logged; nil if the entry has none.
func boundOf(e catalog.LogEntry, name string) bson.Raw {
	doc, ok := e.Detail(name).DocumentOK()
	if elements, err := doc.Elements(); !ok || err != nil || len(elements) == 0 {
		return nil
	}
	return doc
}

func boundText(bound bson.Raw) string {
	if bound == nil {
		return ""
	}
	return humanize.Literal(bound)
}
