package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Run is what is to be done.
type Run struct {
	// Verb is drain, apply, balance, defragment or presplit.
	Verb string
	// Plan has the steps; nil where the engine chooses them in rounds.
	Plan *plan.Plan
	// Shard is the one that a drain empties, else empty.
	Shard catalog.ShardID
	// Namespaces are the collections where there is no plan.
	Namespaces []string
	// Remove, MovePrimaries, ForceJumbo and PauseBalancing are options of the run.
	Remove, MovePrimaries, ForceJumbo, PauseBalancing bool
	// Despite are the codes of what does not stop the run.
	Despite []diagnosis.Code
	// Limited runs end at a limit: what only keeps the goal from being reached does not
	// stop them.
	Limited bool
	// Advisories are the known faults of servers that count.
	Advisories advisory.List
}

// Facts are what was read of the cluster. What is zero was not read.
type Facts struct {
	Snapshot *catalog.Snapshot
	// NoPlan is why no plan could be made; nil when one was, or none is needed.
	NoPlan error
	// IsOwn are databases and collections of shardsh itself, which any run may move.
	IsOwn func(namespace string) bool
	// Privileges are those of the user; nil if there is no access control.
	Privileges *Privileges
	// Roles are those of the user: "engine@admin".
	Roles []string
	// Indexes are those of the collections that move, by namespace.
	Indexes map[string]Indexes
	// Unmovable are the chunks that no cut makes small enough to be moved.
	Unmovable []Unmovable
	// Balancing is why the cluster's own balancer is in the way; nil when it is not.
	Balancing error
	// LeaseHeld is why another run of shardsh is in the way; Quiesced that the cluster is kept
	// quiet.
	LeaseHeld, Quiesced error
	// MovingPrimary are databases of which somebody moves the primary.
	MovingPrimary []string
}

// Obstacle is something in the way of a run.
type Obstacle struct {
	diagnosis.Finding
	// Stops says that the run can't reach its goal. Else the run can, and takes longer, or
	// does something worth knowing.
	Stops bool
	// Waits says that the run waits before its next step until this is over.
	Waits bool
	// Option is an option of the run that takes it out of the way, OptionEffect what that does:
	// "moves it". Both are empty where there is none.
	Option, OptionEffect string
	// Hint is what else to do, for texts.
	Hint string
	// Err is the error that the run would fail with, where that has a type; else nil.
	Err error
}

// Text says what is in the way and what to do. Options are spelled by a face.
func (o Obstacle) Text(spell func(option string) string) string {
	text := o.Finding.Text()
	if o.Err != nil {
		return o.Err.Error()
	}
	if o.Option != "" {
		text += fmt.Sprintf("; %s %s", spell(o.Option), o.OptionEffect)
	}
	if o.Hint != "" {
		text += fmt.Sprintf(" (%s)", o.Hint)
	}
	return text
}

// MarshalJSON returns the finding as an object, with what makes it an obstacle.
func (o Obstacle) MarshalJSON() ([]byte, error) {
	finding, err := o.Finding.MarshalJSON()
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"stops":%t,`, o.Stops)
	if o.Waits {
		head += `"waits":true,`
	}
	if o.Option != "" {
		head += fmt.Sprintf(`"option":%q,`, o.Option)
	}
	return append([]byte(head), finding[1:]...), nil
}

// Report is what a preflight found.
type Report struct {
	Verb string `json:"verb"`
	// Plan is the ID of the plan; empty without one.
	Plan string `json:"plan,omitzero"`
	// Ready reports whether nothing stops the run.
	Ready bool `json:"ready"`
	// Time is the cluster's.
	Time time.Time `json:"time"`
	// Obstacles are what stops the run, and then what is worth knowing.
	Obstacles []Obstacle `json:"obstacles"`
	// Unread are what could not be looked at, and why.
	Unread []string `json:"unread,omitempty"`
}

// Stopping returns the obstacles that stop the run.
func (r Report) Stopping() []Obstacle {
	n := 0
	for n < len(r.Obstacles) && r.Obstacles[n].Stops {
		n++
	}
	return r.Obstacles[:n]
}

// Without returns the report without what has a code.
func (r Report) Without(code diagnosis.Code) Report {
	r.Obstacles = slices.DeleteFunc(slices.Clone(r.Obstacles), func(o Obstacle) bool { return o.Code == code })
	r.Ready = len(r.Stopping()) == 0
	return r
}

// Error says that a run was not begun, and what is in the way.
type Error struct{ Report Report }

// Error has the names of options as the fields of an object.
func (e *Error) Error() string { return e.SpellOptions(func(option string) string { return option }) }

// SpellOptions returns the text with the names of options as a face spells them.
func (e *Error) SpellOptions(spell func(option string) string) string {
	var texts []string
	stopping := e.Report.Stopping()
	for i, o := range stopping {
		if i+1 < len(stopping) && stopping[i+1].Hint == o.Hint {
			o.Hint = "" // it comes with the last one
		}
		texts = append(texts, o.Text(spell))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%d things are in the way: %s", len(texts), strings.Join(texts, "; "))
}

// Unwrap returns the errors that the run would have failed with.
func (e *Error) Unwrap() (list []error) {
	for _, o := range e.Report.Stopping() {
		if o.Err != nil {
			list = append(list, o.Err)
		}
	}
	return list
}

// Err returns an error when something stops the run: the run's own one if that is all. What
// the run waits for does not.
func (r Report) Err() error {
	r.Obstacles = slices.DeleteFunc(slices.Clone(r.Obstacles), func(o Obstacle) bool { return o.Waits })
	stopping := r.Stopping()
	if len(stopping) == 0 {
		return nil
	}
	if len(stopping) == 1 && stopping[0].Err != nil {
		return stopping[0].Err
	}
	return &Error{r}
}

// Check returns what is in the way of a run.
func Check(run Run, facts Facts) Report {
	l := checker{Run: run, Facts: facts}
	report := Report{Verb: run.Verb, Time: facts.Snapshot.Time(), Obstacles: []Obstacle{}}
	if run.Plan != nil {
		report.Plan = run.Plan.ID
	}
	for _, part := range []func(){
		l.checkOtherRuns, l.checkFrozen, l.checkKnownFaults, l.checkBalancer, l.checkPlanned,
		l.checkShards, l.checkRemaining, l.checkCollections, l.checkOperations, l.checkIndexes,
		l.checkUnmovable, l.checkDeletions, l.checkFreeSpace, l.checkVersions, l.checkPrivileges,
	} {
		part()
	}
	report.Obstacles = append(report.Obstacles, l.obstacles...)
	for i, o := range report.Obstacles {
		report.Obstacles[i].Stops = o.Stops && !slices.Contains(run.Despite, o.Code)
	}
	slices.SortStableFunc(report.Obstacles, func(a, b Obstacle) int {
		switch {
		case a.Stops == b.Stops:
			return 0
		case a.Stops:
			return -1
		}
		return 1
	})
	report.Ready = len(report.Stopping()) == 0
	return report
}

// checker is a look at a cluster.
type checker struct {
	Run
	Facts
	obstacles []Obstacle
}

// addBlocking adds what stops the run.
func (l *checker) addBlocking(f diagnosis.Finding) *Obstacle {
	return l.add(Obstacle{Finding: f, Stops: true})
}

// addGoalMiss adds what keeps the run from its goal; it does not stop a run with a limit.
func (l *checker) addGoalMiss(f diagnosis.Finding) *Obstacle {
	return l.add(Obstacle{Finding: f, Stops: !l.Limited})
}

// addWarning adds what is worth knowing.
func (l *checker) addWarning(f diagnosis.Finding) *Obstacle { return l.add(Obstacle{Finding: f}) }

func (l *checker) add(o Obstacle) *Obstacle {
	l.obstacles = append(l.obstacles, o)
	return &l.obstacles[len(l.obstacles)-1]
}

// isDrain reports whether the run empties a shard.
func (l *checker) isDrain() bool { return l.Shard != "" }

// moves are the shards between which the steps move a collection.
type moves struct {
	from, to    []catalog.ShardID
	splits      bool  // or merges
	donorSplits bool  // where to cut is up to the donor
	maxBytes    int64 // bytes of a step
}

// movesByNamespace returns what the steps do, by namespace.
func (l *checker) movesByNamespace() map[string]*moves {
	list := map[string]*moves{}
	for _, ns := range l.Namespaces {
		list[ns] = &moves{}
	}
	if l.Plan == nil {
		return list
	}
	add := func(ids *[]catalog.ShardID, id catalog.ShardID) {
		if id != "" && !slices.Contains(*ids, id) {
			*ids = append(*ids, id)
		}
	}
	for _, s := range l.Plan.Steps {
		m := list[s.Namespace]
		if m == nil {
			m = &moves{}
			list[s.Namespace] = m
		}
		if s.Kind == plan.Move {
			add(&m.from, s.From)
			add(&m.to, s.To)
		} else {
			m.splits = true
		}
		m.donorSplits, m.maxBytes = m.donorSplits || s.Within != nil, max(m.maxBytes, s.Bytes)
	}
	return list
}

// checkPlanned says why no plan could be made.
func (l *checker) checkPlanned() {
	if l.NoPlan != nil {
		found := diagnosis.NewFinding(diagnosis.NoPlan, diagnosis.Scope{Shard: l.Shard}, l.NoPlan.Error())
		l.addBlocking(found).Err = l.NoPlan
	}
}

// checkOtherRuns reports another run that holds the lease, or a quiesced cluster.
func (l *checker) checkOtherRuns() {
	if l.LeaseHeld != nil {
		l.addBlocking(diagnosis.NewFinding(diagnosis.LeaseHeld, diagnosis.Scope{}, l.LeaseHeld.Error())).Err = l.LeaseHeld
	}
	if l.Quiesced != nil {
		l.addBlocking(diagnosis.NewFinding(diagnosis.Quiesced, diagnosis.Scope{}, l.Quiesced.Error(),
			"sh.quiesce({ end: true })")).Err = l.Quiesced
	}
	lease := l.Snapshot.Parts().Lease
	if lease != nil && !lease.Running && len(lease.Paused) > 0 {
		f := diagnosis.PausedFinding(*lease, lease.Paused)
		f.Sentence += "; this run takes that over"
		l.addWarning(f)
	}
}

// MaxMoveBytes is how many bytes donors of a release move at once, with a chunk size.
func MaxMoveBytes(r catalog.Release, chunkSize int64) int64 {
	if r.BalancesBySize() {
		return 2 * chunkSize
	}
	return chunkSize + chunkSize*3/10
}

// checkBalancer says that the cluster's own balancer works on the collections.
func (l *checker) checkBalancer() {
	if l.Balancing == nil {
		return
	}
	what := l.Balancing.Error()
	var commands []string
	if does, is := l.Balancing.(interface{ What() string }); is {
		what, commands = does.What(), []string{"sh.stopBalancer()"}
	}
	o := l.addBlocking(diagnosis.NewFinding(diagnosis.BalancerWorks, diagnosis.Scope{}, what, commands...))
	o.Err = l.Balancing
	if !l.PauseBalancing {
		o.Option, o.OptionEffect = "pauseBalancing", "pauses it meanwhile"
	}
}

// checkFrozen reports why the run waits before its first step: a pause, or a change of the
// compatibility version.
func (l *checker) checkFrozen() {
	for _, f := range diagnosis.PausedRunFindings(l.Snapshot) {
		l.addBlocking(f).Waits = true
	}
}

// checkVersions says that not all servers are of one release.
func (l *checker) checkVersions() {
	for _, f := range diagnosis.VersionFindings(l.Snapshot) {
		l.addWarning(f)
	}
}
