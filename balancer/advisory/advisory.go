package advisory

import (
	_ "embed"
	"slices"
	"sync"

	"shardsh/balancer/diagnosis"
)

// Advisory is a known bug of some server versions.
type Advisory struct {
	// ID is the ticket, such as SERVER-115962, Also others of the same fault.
	ID   string   `yaml:"id" json:"id"`
	Also []string `yaml:"also" json:"also,omitempty"`
	// Severity says what it does.
	Severity Severity `yaml:"severity" json:"severity"`
	// Affected are the versions that have it.
	Affected []Range `yaml:"affected" json:"affected"`
	// States must all hold for the bug to occur; empty means always.
	States []State `yaml:"states" json:"states,omitempty"`
	// Commands are those that trigger the bug, any one of them; empty means always.
	Commands []Command `yaml:"commands" json:"commands,omitempty"`
	// Symptom is what is seen, Remedy what to do, Source where that stands.
	Symptom string `yaml:"symptom" json:"symptom"`
	Remedy  string `yaml:"remedy" json:"remedy"`
	Source  string `yaml:"source" json:"source,omitempty"`
}

// Range is the versions [From, Fixed); a zero Fixed means that no fix is known.
type Range struct {
	From  Version `yaml:"from" json:"from"`
	Fixed Version `yaml:"fixed" json:"fixed,omitzero"`
}

// Has reports whether a version is in the range.
func (r Range) Has(v Version) bool {
	return r.From.Compare(v) <= 0 && (r.Fixed == Version{} || v.Compare(r.Fixed) < 0)
}

// affectedRange returns the range that has a version.
func (a Advisory) affectedRange(v Version) (Range, bool) {
	if i := slices.IndexFunc(a.Affected, func(r Range) bool { return r.Has(v) }); i >= 0 {
		return a.Affected[i], true
	}
	return Range{}, false
}

// hasID reports whether a ticket is that of the advisory.
func (a Advisory) hasID(id string) bool { return a.ID == id || slices.Contains(a.Also, id) }

// Severity says what a fault does.
type Severity string

// The severities, the worst first.
const (
	DataLoss     Severity = "dataLoss"
	Exposure     Severity = "exposure" // of data to others
	WrongAnswers Severity = "wrongAnswers"
	Outage       Severity = "outage" // something hangs, crashes or is not done
	Minor        Severity = "minor"  // something is slow, takes memory, or has to be known
)

// Severities are all of them, the worst first.
func Severities() []Severity { return []Severity{DataLoss, Exposure, WrongAnswers, Outage, Minor} }

// FindingSeverity returns how urgent it is.
func (s Severity) FindingSeverity() diagnosis.Severity {
	switch s {
	case Outage:
		return diagnosis.Warning
	case Minor:
		return diagnosis.Info
	}
	return diagnosis.Critical
}

// State is how a cluster is.
type State string

// The states.
const (
	Zones         State = "zones"         // there are ranges of zones
	TimeSeries    State = "timeSeries"    // there are sharded time series
	ConfigShard   State = "configShard"   // the config servers are a shard, too
	Unsharded     State = "unsharded"     // there are unsharded collections that were moved
	Jumbo         State = "jumbo"         // there are jumbo chunks
	ManyChunks    State = "manyChunks"    // there are 100,000 chunks or more
	Deletions     State = "deletions"     // shards have ranges to delete
	Balancing     State = "balancing"     // the balancer is on, or a chunk moves
	Draining      State = "draining"      // a shard drains
	Resharding    State = "resharding"    // a resharding is under way
	MovingPrimary State = "movingPrimary" // a movePrimary is under way
	Upgrading     State = "upgrading"     // servers are of several releases, or newer than the FCV
)

// States are all of them.
func States() []State {
	return []State{
		Zones, TimeSeries, ConfigShard, Unsharded, Jumbo, ManyChunks, Deletions, Balancing, Draining, Resharding,
		MovingPrimary, Upgrading,
	}
}

// Command is an operation on a cluster that can trigger a bug.
type Command string

// The commands that runs of shardsh send, or that show in a cluster while they run. Reshard
// is unshardCollection, too.
const (
	Move           Command = "move"
	Split          Command = "split"
	Merge          Command = "merge"
	Drain          Command = "drain"
	MovePrimary    Command = "movePrimary"
	MoveCollection Command = "moveCollection"
	Reshard        Command = "reshard"
	SetFCV         Command = "setFCV"
	Transition     Command = "transition" // to dedicated config servers
)

// The commands of applications and operators, which shardsh cannot observe.
const (
	Refine       Command = "refine"
	AddShard     Command = "addShard"
	StopBalancer Command = "stopBalancer"
	Reconfig     Command = "reconfig" // of a shard's hosts
	Index        Command = "index"
	Rename       Command = "rename"
	Transaction  Command = "transaction"
	ChangeStream Command = "changeStream"
)

// Commands are all of them.
func Commands() []Command {
	return append([]Command{Move, Split, Merge, Drain, MovePrimary, MoveCollection, Reshard, SetFCV, Transition},
		unseenCommands()...)
}

func unseenCommands() []Command {
	return []Command{Refine, AddShard, StopBalancer, Reconfig, Index, Rename, Transaction, ChangeStream}
}

// needsUnseenCommand reports whether the bug occurs only with commands that cannot be observed.
func (a Advisory) needsUnseenCommand() bool {
	return len(a.Commands) > 0 &&
		!slices.ContainsFunc(a.Commands, func(c Command) bool { return !slices.Contains(unseenCommands(), c) })
}

// List are advisories as of a date.
type List struct {
	Dated      string
	Advisories []Advisory
}

//go:embed list.yaml
var embedded []byte

// Embedded returns the list that is part of the program, read once. Nobody may change it.
func Embedded() List { return embeddedList() }

var embeddedList = sync.OnceValue(func() List {
	own, err := Parse(embedded)
	if err != nil {
		panic("advisory: " + err.Error()) // a test parses it
	}
	return own.list
})

// With returns the list with a file's advisories, which replace those of the same ticket, and
// without those that it mutes.
func (l List) With(f File) List {
	dropped := func(a Advisory) bool {
		return slices.ContainsFunc(f.Mute, a.hasID) ||
			slices.ContainsFunc(f.list.Advisories, func(other Advisory) bool { return other.ID == a.ID })
	}
	kept := slices.DeleteFunc(slices.Clone(l.Advisories), dropped)
	return List{Dated: max(l.Dated, f.list.Dated), Advisories: append(kept, f.list.Advisories...)}
}
