package diagnosis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// Finding is a fact about a cluster that deserves an operator's attention.
type Finding struct {
	Code     Code
	Severity Severity
	Actor    Actor
	Scope    Scope
	// Numbers are the quantities behind the finding, in the order of its Sentence.
	Numbers []Number
	// Since is when the condition began; zero when the time is unknown.
	Since time.Time
	// BalancerActsAt is when the balancer can next act by itself; zero when the time is unknown, or when the next
	// round can act.
	BalancerActsAt time.Time
	// Sentence states the finding, without the remedy. It has no full stop, because it is printed in
	// lists and before commands.
	Sentence string
	// Commands are the commands for the operator to enter in the shell. A word in angle brackets is a
	// placeholder.
	Commands []string
	// InsteadOfWaiting holds commands that end at once a condition that would end by itself later.
	InsteadOfWaiting []string
}

// sortBySeverity sorts findings, the most severe first.
func sortBySeverity(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
}

// Severity says how urgent a finding is.
type Severity uint8

// The severities.
const (
	Info     Severity = iota + 1 // work in progress, or a state that a user has chosen
	Warning                      // keeps the cluster from being balanced, or will do so
	Critical                     // nothing is balanced until it is fixed
)

// String returns the severity as info, warning or critical.
func (s Severity) String() string { return [...]string{"", "info", "warning", "critical"}[s] }

// Actor says who has to act.
type Actor uint8

// The actors.
const (
	Nobody Actor = iota + 1
	Balancer
	Operator
)

// String returns the actor as nobody, balancer or operator.
func (a Actor) String() string { return [...]string{"", "nobody", "balancer", "operator"}[a] }

// Scope says what a finding is about. Fields that do not apply are zero; the zero Scope is the cluster.
type Scope struct {
	Namespace string          `json:"ns,omitzero"`
	Shard     catalog.ShardID `json:"shard,omitzero"`
	To        catalog.ShardID `json:"to,omitzero"` // the other shard of a migration
	Zone      string          `json:"zone,omitzero"`
	Chunk     catalog.Key     `json:"chunk,omitzero"` // lower bound
}

// ScopeKind is the kind of the smallest object that a Scope names.
type ScopeKind string

// The kinds of Scope.
const (
	ClusterScope    ScopeKind = "cluster"
	CollectionScope ScopeKind = "collection"
	ShardScope      ScopeKind = "shard"
	ZoneScope       ScopeKind = "zone"
	ChunkScope      ScopeKind = "chunk"
)

// Kind returns the kind of the smallest object that the Scope names.
func (s Scope) Kind() ScopeKind {
	switch {
	case !s.Chunk.IsZero():
		return ChunkScope
	case s.Zone != "":
		return ZoneScope
	case s.Shard != "":
		return ShardScope
	case s.Namespace != "":
		return CollectionScope
	}
	return ClusterScope
}

// Number is a named quantity of a finding. Names are stable.
type Number struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Unit  Unit   `json:"unit,omitzero"`
}

// Unit is the unit of a Number.
type Unit string

// The units. With Count, the Number's name says what is counted.
const (
	Count   Unit = ""
	Bytes   Unit = "bytes"
	Seconds Unit = "seconds"
)

// Text returns the value with its unit.
func (n Number) Text() string {
	switch n.Unit {
	case Bytes:
		return humanize.Bytes(n.Value)
	case Seconds:
		return humanize.Duration(time.Duration(n.Value) * time.Second)
	}
	return strconv.FormatInt(n.Value, 10)
}

// Number returns the value of the number with a name, and reports whether the finding has that number.
func (f Finding) Number(name string) (value int64, ok bool) {
	i := slices.IndexFunc(f.Numbers, func(n Number) bool { return n.Name == name })
	if i < 0 {
		return 0, false
	}
	return f.Numbers[i].Value, true
}

// Text returns the sentence with the commands.
func (f Finding) Text() string {
	if len(f.Commands) == 0 {
		return f.Sentence
	}
	return f.Sentence + ": " + strings.Join(f.Commands, ", ")
}

// countNumbers returns Numbers with the unit Count.
func countNumbers(name string, value int64, more ...Number) []Number {
	return append([]Number{{Name: name, Value: value}}, more...)
}
