package advisory

import (
	_ "embed"
	"slices"
	"sync"

	"shardsh/balancer/diagnosis"
)

// Advisory is a known bug of some server versions.
type Advisory struct {
	// ID is the ticket, such as SERVER-115962. OtherIDs holds other tickets of the same bug.
	ID       string   `yaml:"id" json:"id"`
	OtherIDs []string `yaml:"also" json:"also,omitempty"`
	// Severity says how much harm the bug does.
	Severity Severity `yaml:"severity" json:"severity"`
	// Affected holds the version ranges that have the bug.
	Affected []Range `yaml:"affected" json:"affected"`
	// States must all hold for the bug to occur. An empty States means that the bug can always occur.
	States []State `yaml:"states" json:"states,omitempty"`
	// Commands are the commands that trigger the bug; any one of them suffices. An empty Commands means
	// that no command is needed.
	Commands []Command `yaml:"commands" json:"commands,omitempty"`
	// Symptom says what an operator observes, Remedy what to do about the bug, and Source where the bug
	// is documented.
	Symptom string `yaml:"symptom" json:"symptom"`
	Remedy  string `yaml:"remedy" json:"remedy"`
	Source  string `yaml:"source" json:"source,omitempty"`
}

// Range is the versions [From, Fixed); a zero Fixed means that no fix is known.
type Range struct {
	From  Version `yaml:"from" json:"from"`
	Fixed Version `yaml:"fixed" json:"fixed,omitzero"`
}

// Has reports whether the range contains a version.
func (r Range) Has(v Version) bool {
	return r.From.Compare(v) <= 0 && (r.Fixed == Version{} || v.Compare(r.Fixed) < 0)
}

// affectedRange returns the affected range that contains a version.
func (a Advisory) affectedRange(v Version) (Range, bool) {
	if i := slices.IndexFunc(a.Affected, func(r Range) bool { return r.Has(v) }); i >= 0 {
		return a.Affected[i], true
	}
	return Range{}, false
}

// hasID reports whether a ticket belongs to the advisory.
func (a Advisory) hasID(id string) bool { return a.ID == id || slices.Contains(a.OtherIDs, id) }

// Severity says how much harm a bug does.
type Severity string

// The severities, the worst first.
const (
	DataLoss     Severity = "dataLoss"
	Exposure     Severity = "exposure" // exposes data to other users
	WrongAnswers Severity = "wrongAnswers"
	Outage       Severity = "outage" // an operation hangs, crashes or is not carried out
	Minor        Severity = "minor"  // an operation is slow or takes memory, or operators have to know about the bug
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{DataLoss, Exposure, WrongAnswers, Outage, Minor} }

// FindingSeverity returns the severity of a finding about a bug of severity s.
func (s Severity) FindingSeverity() diagnosis.Severity {
	switch s {
	case Outage:
		return diagnosis.Warning
	case Minor:
		return diagnosis.Info
	}
	return diagnosis.Critical
}

// State is a state of a cluster that a bug can depend on.
type State string

// The states.
const (
	Zones          State = "zones"         // zones have ranges
	TimeSeries     State = "timeSeries"    // sharded time series collections exist
	ConfigShard    State = "configShard"   // the config server is also a shard
	MovedUnsharded State = "unsharded"     // unsharded collections have been moved
	Jumbo          State = "jumbo"         // jumbo chunks exist
	ManyChunks     State = "manyChunks"    // the cluster has 100,000 chunks or more
	RangeDeletions State = "deletions"     // shards have pending range deletions
	Balancing      State = "balancing"     // the balancer is on, or a migration is running
	Draining       State = "draining"      // a shard is draining
	Resharding     State = "resharding"    // a resharding is running
	MovingPrimary  State = "movingPrimary" // a movePrimary is running
	Upgrading      State = "upgrading"     // servers run several releases, or a release newer than the FCV
)

// States returns all states.
func States() []State {
	return []State{
		Zones, TimeSeries, ConfigShard, MovedUnsharded, Jumbo, ManyChunks, RangeDeletions, Balancing, Draining, Resharding,
		MovingPrimary, Upgrading,
	}
}

// Command is an operation on a cluster that can trigger a bug.
type Command string

// The commands that runs of shardsh send, or that can be observed in a cluster while they run. Reshard
// also stands for unshardCollection.
const (
	Move                  Command = "move"
	Split                 Command = "split"
	Merge                 Command = "merge"
	Drain                 Command = "drain"
	MovePrimary           Command = "movePrimary"
	MoveCollection        Command = "moveCollection"
	Reshard               Command = "reshard"
	SetFCV                Command = "setFCV"
	TransitionToDedicated Command = "transition" // to dedicated config servers
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

// Commands returns all commands.
func Commands() []Command {
	return append([]Command{Move, Split, Merge, Drain, MovePrimary, MoveCollection, Reshard, SetFCV,
		TransitionToDedicated},
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

// List is a list of advisories as of a date.
type List struct {
	Dated      string
	Advisories []Advisory
}

//go:embed list.yaml
var embedded []byte

// Embedded returns the list that is embedded in the program. The list is parsed once; callers must not
// modify it.
func Embedded() List { return embeddedList() }

var embeddedList = sync.OnceValue(func() List {
	own, err := Parse(embedded)
	if err != nil {
		panic("advisory: " + err.Error()) // a test parses the embedded list
	}
	return own.list
})

// With returns a copy of the list with the advisories of a file added. They replace advisories with the
// same ticket. Advisories that the file mutes are removed.
func (l List) With(f File) List {
	dropped := func(a Advisory) bool {
		return slices.ContainsFunc(f.Mute, a.hasID) ||
			slices.ContainsFunc(f.list.Advisories, func(other Advisory) bool { return other.ID == a.ID })
	}
	kept := slices.DeleteFunc(slices.Clone(l.Advisories), dropped)
	return List{Dated: max(l.Dated, f.list.Dated), Advisories: append(kept, f.list.Advisories...)}
}
