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
	balancer.ConcurrentCluster
	apply.SnapshotReader
	// Release returns the release of the mongos.
	Release() catalog.Release
	// Chunks returns the chunks of a collection that overlap [lower, upper).
	Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	// Sizes returns the size of collections on each shard, in any release.
	Sizes(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error)
	// OperationCounts returns the number of operations on collections that each shard has counted since it
	// was started.
	OperationCounts(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error)
	// ReadCatalog reads the state that a round needs of some collections. Of the routing tables that an
	// earlier Catalog contains, it reads only the changes.
	ReadCatalog(ctx context.Context, namespaces []string, before *Catalog) (*Catalog, error)
	// RangeSize asks the donor for the size of a range, as far as the averages of the donor allow an
	// estimate.
	RangeSize(ctx context.Context, c apply.Command) (apply.RangeAmount, error)
	// MovedAmount returns the amount that a finished move has moved, as the donor has counted it.
	MovedAmount(ctx context.Context, c apply.Command) (apply.RangeAmount, error)
	// SetBalancing switches the balancing of collections on or off. It records the collections that are
	// off in the cluster, where the record survives the end of this process.
	SetBalancing(ctx context.Context, namespaces []string, on bool) error
	// PausedCollections returns the collections that are recorded as switched off.
	PausedCollections() []string
	// LeaseContext returns a context that ends when the lease is lost.
	LeaseContext() context.Context
}

// BalanceGoal is the quantity that the rounds balance.
type BalanceGoal string

// These are the goals.
const (
	// GoalSize balances bytes, as the server's balancer does since 6.0.
	GoalSize BalanceGoal = "size"
	// GoalChunks balances the number of chunks, as the server's balancer did before 6.0.
	GoalChunks BalanceGoal = "chunks"
	// GoalOps balances operations, as each shard counts them for a collection.
	GoalOps BalanceGoal = "ops"
	// GoalLoad balances load. Sampled queries tell which chunks have the load.
	GoalLoad BalanceGoal = "load"
)

// BalanceGoals returns all goals.
func BalanceGoals() []BalanceGoal { return []BalanceGoal{GoalSize, GoalChunks, GoalOps, GoalLoad} }

// ParseBalanceGoal parses a goal.
func ParseBalanceGoal(text string) (BalanceGoal, error) {
	return parseOneOf("goal", BalanceGoals(), text)
}

// PolicyRelease returns the release whose policy balances the goal, for servers of release r.
func (g BalanceGoal) PolicyRelease(r catalog.Release) catalog.Release {
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
	// OrderPolicy is the order in which the policy chose the moves.
	OrderPolicy Order = "chosen"
	// OrderLargest begins with the moves of most bytes, OrderSmallest with the moves of fewest bytes.
	OrderLargest  Order = "largest"
	OrderSmallest Order = "smallest"
	// OrderHottest begins with the donor that has the most operations.
	OrderHottest Order = "hottest"
)

// Orders returns all orders.
func Orders() []Order { return []Order{OrderPolicy, OrderLargest, OrderSmallest, OrderHottest} }

// ParseOrder parses an order.
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
	// Namespaces are the collections, by name or by pattern (plan.MatchNamespaces). None means all
	// collections except the servers' own. A collection that is named is balanced even if its balancing
	// is disabled.
	Namespaces []string
	Goal       BalanceGoal
	Order      Order
	// Parallel is the maximum number of moves of one round that run at once; zero means 1. A shard
	// takes part in one move at a time.
	Parallel int
	// PauseBalancing switches the balancing of the collections off for the cluster's own balancer. The code
	// that gives the lease back switches it on again.
	PauseBalancing bool
	// ForceJumbo moves chunks by force that are too large to be moved otherwise and whose documents all
	// have the same shard key. Writes to the collection wait during such a move. Without ForceJumbo,
	// these chunks stay where they are. With ForceJumbo, chunks with the jumbo flag are treated like
	// other chunks: a chunk that can be split is split.
	ForceJumbo bool
	// Rand is the only source of randomness; nil keeps catalog order.
	Rand *rand.Rand
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters

	// Gate decides when moves may begin; nil allows all moves.
	Gate *pace.Gate
	// MaxTime limits the time in which moves may begin; zero means no limit. The cluster's own balancer
	// has to stay idle for that long. The Gate enforces the limit.
	MaxTime time.Duration
	// DiskLimit is the maximum fraction of its volume that a shard may fill by receiving chunks; zero
	// disables the check. The Gate checks again before each move.
	DiskLimit float64
	// ReadVolumes reads the volumes of the shards and the files of some collections, for DiskLimit.
	ReadVolumes func(ctx context.Context, namespaces []string) (*catalog.Snapshot, error)
	// CoolDown is the time for which a range that was moved is not moved again.
	CoolDown time.Duration
	// OpsInterval is how long operations are counted before each round, for the goals GoalOps and
	// GoalLoad; zero means a minute.
	OpsInterval time.Duration
	// ReadHeat counts operations and estimates the load of chunks for GoalLoad; LoadKind says what counts
	// as load. The error is ErrNoSamples if no query is sampled.
	ReadHeat func(ctx context.Context, namespaces []string) ([]heat.Map, error)
	LoadKind heat.LoadKind
	Clock    pace.Clock
	// OnEvent is called for each event, never concurrently; nil ignores events.
	OnEvent func(Event)
	// MovesContext cancels running moves. The context of Run only prevents new moves. Nil never ends.
	MovesContext context.Context
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	BalancingPaused EventKind = "takenOver" // collections are off for the cluster's balancer
	Began           EventKind = "began"     // a move has begun
	ForcingMove     EventKind = "forcing"   // a move blocks writes: Why says how many bytes, and for how long
	Moved           EventKind = "moved"
	Failed          EventKind = "failed"
	LeftToServers   EventKind = "goesOn"  // the move was left to the servers
	RefusedByHold   EventKind = "refused" // by a hold of the run; the move is chosen again
	Stopped         EventKind = "stopped" // the donor has stopped the move, as requested
	Split           EventKind = "split"
	Skipped         EventKind = "aside" // a range or a collection is not moved any more
	RoundEnded      EventKind = "round" // a round has ended
	Waiting         EventKind = "waiting"
)

// Move is one move of a run.
type Move struct {
	Number    int // from 1, in the order in which they begin
	Namespace string
	Min, Max  catalog.Key // Max is zero until it is known
	From, To  catalog.ShardID
	Reason    policy.Reason
	// Bytes is the expected number of bytes, or the number that the move has moved if the donor has
	// counted it.
	Bytes int64
	Took  time.Duration
}

// Event is an event of a run. Fields that do not belong to its kind are zero.
type Event struct {
	Kind      EventKind
	At        time.Time
	Move      Move
	Namespace string
	// Namespaces are the collections whose balancing was paused.
	Namespaces []string
	// Min is the lower bound of a range that is skipped; zero for a whole collection.
	Min catalog.Key
	// PointCount is the number of points of a split.
	PointCount int
	// Why is the reason why a range or a collection is skipped, or what the run waits for.
	Why  string
	Wait time.Duration
	Err  error
	// Failure is the class of the error, which decides how the run proceeds.
	Failure policy.FailureClass
	Done    pace.MovedAmount // so far
}

// Leftover is something that the run does not balance.
type Leftover struct {
	Code      policy.Code
	Namespace string
	Text      string
}

// Result is the result of a run.
type Result struct {
	// Reached says that a round found nothing to move. If Reached is false and there is no error,
	// Stopped says why the run stopped: a limit was reached, or the user interrupted the run.
	Reached bool
	Stopped string
	// Left lists what remains uneven, with the reasons.
	Left []Leftover

	Namespaces     []string
	Done           pace.MovedAmount
	Failed, Splits int
	Rounds         int
	Began, Ended   time.Time
}

// BalancerActiveError says that the cluster's own balancer works on collections of the run.
type BalancerActiveError struct{ *apply.BalancerConflictError }

// Error returns a text that names the command with which the operator resolves the conflict. Options
// are written as in the shell.
func (e *BalancerActiveError) Error() string {
	if e.Reenabled {
		return e.BalancerConflictError.Error()
	}
	return e.text(`timeZone: "Europe/Berlin"`, "pauseBalancing: true")
}

// SpellOptions returns the error text with the names of options as on a command line.
func (e *BalancerActiveError) SpellOptions(spell func(option string) string) string {
	if e.Reenabled {
		return e.BalancerConflictError.SpellOptions(spell)
	}
	return e.text(spell("timeZone")+" Europe/Berlin", spell("pauseBalancing"))
}

func (e *BalancerActiveError) text(timeZone, pauseBalancing string) string {
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

// Unwrap returns the underlying error of package apply.
func (e *BalancerActiveError) Unwrap() error { return e.BalancerConflictError }
