package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// Cluster is a sharded cluster on which we hold the lease.
type Cluster interface {
	balancer.SharedCluster
	apply.Looker
	// Release is that of the mongos.
	Release() catalog.Release
	// Chunks returns the chunks of a collection that overlap [lower, upper).
	Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	// Sizes returns what each shard has of collections, whatever the release.
	Sizes(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error)
	// Operations returns how many operations each shard has counted of collections
	// since it began.
	Operations(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error)
	// ReadCatalog reads what a round looks at of some collections. Of the routing tables
	// that an earlier Catalog has it reads what has changed.
	ReadCatalog(ctx context.Context, namespaces []string, before *Catalog) (*Catalog, error)
	// Size asks the donor how much a range holds, as far as its averages say.
	Size(ctx context.Context, c apply.Command) (apply.Moved, error)
	// Moved returns what a move that is done has moved, as the donor has counted it.
	Moved(ctx context.Context, c apply.Command) (apply.Moved, error)
	// SetBalancing switches the balancing of collections, and notes those that are off
	// where they outlive this process.
	SetBalancing(ctx context.Context, namespaces []string, on bool) error
	// Leftover returns the collections that are noted as switched off.
	Leftover() []string
	// Held ends when the lease is lost.
	Held() context.Context
}

// Goal is what the rounds even out.
type Goal string

// The goals.
const (
	// GoalSize evens out bytes, as balancers do since 6.0.
	GoalSize Goal = "size"
	// GoalChunks evens out numbers of chunks, as balancers did before.
	GoalChunks Goal = "chunks"
	// GoalOps evens out operations, as each shard counts them for a collection.
	GoalOps Goal = "ops"
	// GoalLoad evens out load, of which samples of queries say which chunk it is of.
	GoalLoad Goal = "load"
)

// Goals returns all of them.
func Goals() []Goal { return []Goal{GoalSize, GoalChunks, GoalOps, GoalLoad} }

// ParseGoal reads a goal.
func ParseGoal(text string) (Goal, error) { return parseOneOf("goal", Goals(), text) }

// PolicyRelease is the release whose policy leads to the goal, on servers of a release.
func (g Goal) PolicyRelease(r catalog.Release) catalog.Release {
	switch bySize := r.BalancesBySize(); {
	case g == GoalChunks && bySize:
		return catalog.Release50
	case g != GoalChunks && !bySize:
		return catalog.Release60
	}
	return r
}

// Order is the order in which the moves of a round begin.
type Order string

// The orders.
const (
	// OrderChosen is the order in which the policy chose them.
	OrderChosen Order = "chosen"
	// OrderLargest begins with what moves most bytes, OrderSmallest with what moves fewest.
	OrderLargest  Order = "largest"
	OrderSmallest Order = "smallest"
	// OrderHottest begins with the donor that has most operations.
	OrderHottest Order = "hottest"
)

// Orders returns all of them.
func Orders() []Order { return []Order{OrderChosen, OrderLargest, OrderSmallest, OrderHottest} }

// ParseOrder reads an order.
func ParseOrder(text string) (Order, error) { return parseOneOf("order", Orders(), text) }

func parseOneOf[T ~string](what string, all []T, text string) (T, error) {
	if slices.Contains(all, T(text)) {
		return T(text), nil
	}
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = string(name)
	}
	return "", fmt.Errorf("%q is not a valid %s: use one of %s", text, what, strings.Join(names, ", "))
}

// Options say what to balance, and how.
type Options struct {
	// Namespaces are the collections, by name or by pattern (plan.Namespaces); none
	// means all but those of the servers. A collection that is named counts as on
	// whatever its switch says.
	Namespaces []string
	Goal       Goal
	Order      Order
	// Parallel is how many moves of one round run at once; 1 when it is zero. A
	// shard takes part in one at a time.
	Parallel int
	// TakeOver switches the balancing of the collections off for the cluster's own
	// balancer. Who ends the turn switches it on again.
	TakeOver bool
	// ForceJumbo moves by force what is too large to be moved otherwise, where all of it has
	// one shard key: writes to its collection wait meanwhile. Else it stays. Chunks that are
	// flagged jumbo count as others then: what can be cut is cut.
	ForceJumbo bool
	// Rand is the one source of chance; nil keeps catalog order.
	Rand *rand.Rand
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters

	// Gate lets moves begin; nil lets all of them.
	Gate *pace.Gate
	// MaxTime is how long moves begin, zero without a limit: for so long the cluster's
	// own balancer has to keep away. The Gate has the limit itself.
	MaxTime time.Duration
	// DiskLimit is the share of its volume that no shard may fill by what it receives; zero
	// does not ask. The Gate asks once more before each move.
	DiskLimit float64
	// Volumes reads the volumes of the shards, and the files of some collections, for a
	// DiskLimit.
	Volumes func(ctx context.Context, namespaces []string) (*catalog.Snapshot, error)
	// CoolDown is how long a range that was moved is left alone.
	CoolDown time.Duration
	// OpsInterval is how long operations are counted before each round, for the goals
	// GoalOps and GoalLoad; a minute when it is zero.
	OpsInterval time.Duration
	// Heat counts and estimates for GoalLoad, whose By is what counts. The error is
	// ErrNoSamples where no query is sampled.
	Heat     func(ctx context.Context, namespaces []string) ([]heat.Map, error)
	LoadKind heat.LoadKind
	Clock    pace.Clock
	// OnEvent is called for each event, never concurrently; nil ignores
	// them.
	OnEvent func(Event)
	// HardContext cancels running moves. The context of Run only keeps new ones from starting.
	// Nil never ends.
	HardContext context.Context
}

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	TakenOver     EventKind = "takenOver" // collections are off for the cluster's balancer
	Began         EventKind = "began"     // a move
	ForcingMove   EventKind = "forcing"   // the move that has begun blocks writes: Why says how much, and for how long
	Moved         EventKind = "moved"
	Failed        EventKind = "failed"
	LeftToServers EventKind = "goesOn"  // it was left to the servers
	Refused       EventKind = "refused" // by what holds the run: it is chosen again
	Stopped       EventKind = "stopped" // its donor has stopped it, as was asked
	Split         EventKind = "split"
	Skipped       EventKind = "aside" // a range or a collection is left alone
	RoundEnded    EventKind = "round" // has ended
	Waiting       EventKind = "waiting"
)

// Move is one move of a run.
type Move struct {
	Number    int // from 1, in the order in which they begin
	Namespace string
	Min, Max  catalog.Key // Max is zero until it is known
	From, To  catalog.ShardID
	Reason    policy.Reason
	// Bytes is what it is expected to move, and what it has moved where the donor has
	// counted that.
	Bytes int64
	Took  time.Duration
}

// Event is something that has happened. Fields that do not belong to its kind are
// zero.
type Event struct {
	Kind      EventKind
	At        time.Time
	Move      Move
	Namespace string
	// Namespaces are those that were taken over.
	Namespaces []string
	// Min is where a range that is left alone begins; zero for a whole collection.
	Min catalog.Key
	// Points is how many a split has.
	Points int
	// Why a range or a collection is left alone, or what is waited for.
	Why string
	For time.Duration
	Err error
	// Failure is the class of the error, which says what is done about it.
	Failure policy.Failure
	Done    pace.Done // so far
}

// Left is something that the run leaves as it is.
type Left struct {
	Code      policy.Code
	Namespace string
	Text      string
}

// Result is how a run ended.
type Result struct {
	// Reached tells that a round found nothing to move. Where it is not and there is
	// no error, Stopped says why: a limit, or that somebody asked for it.
	Reached bool
	Stopped string
	// Left is what stays, and why.
	Left []Left

	Namespaces     []string
	Done           pace.Done
	Failed, Splits int
	Rounds         int
	Began, Ended   time.Time
}

// BusyError says that the cluster's own balancer works on collections of a run.
type BusyError struct{ *apply.BalancerError }

// Error names the one command that changes that, with options as at the prompt.
func (e *BusyError) Error() string {
	if e.Reenabled {
		return e.BalancerError.Error()
	}
	return e.text(`timeZone: "Europe/Berlin"`, "pauseBalancing: true")
}

// SpellOptions returns the text with the names of options as a command line spells them.
func (e *BusyError) SpellOptions(spell func(option string) string) string {
	if e.Reenabled {
		return e.BalancerError.SpellOptions(spell)
	}
	return e.text(spell("timeZone")+" Europe/Berlin", spell("pauseBalancing"))
}

func (e *BusyError) text(timeZone, pauseBalancing string) string {
	remedy := "sh.stopBalancer()"
	switch {
	case len(e.Defragmenting) > 0:
		return fmt.Sprintf("%s, which is being defragmented: sh.stopDefragment(%q)", e.Summary(), e.Defragmenting[0])
	case len(e.Namespaces) == 1:
		remedy = fmt.Sprintf("sh.disableBalancing(%q)", e.Namespaces[0])
	}
	if e.UnresolvedWindow != "" {
		remedy = "name the time zone of the config servers (" + timeZone + "), or " + remedy
	}
	return fmt.Sprintf("%s: %s; or pause it for these collections (%s)", e.Summary(), remedy, pauseBalancing)
}

// Unwrap returns the error that does not concern runs alone.
func (e *BusyError) Unwrap() error { return e.BalancerError }
