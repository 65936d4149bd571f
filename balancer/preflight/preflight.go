package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Run describes the run to be checked.
type Run struct {
	// Verb is drain, apply, balance, defragment or presplit.
	Verb string
	// Plan holds the steps; nil where the engine chooses them in rounds.
	Plan *plan.Plan
	// Shard is the shard to be drained; empty for other verbs.
	Shard catalog.ShardID
	// Namespaces are the collections of a run without a plan.
	Namespaces []string
	// Remove, MovePrimaries, ForceJumbo and PauseBalancing are options of the run.
	Remove, MovePrimaries, ForceJumbo, PauseBalancing bool
	// DespiteCodes are the codes of findings that do not stop the run.
	DespiteCodes []diagnosis.Code
	// Limited runs end at a limit. Findings that only keep the goal from being reached do not stop
	// them.
	Limited bool
	// Advisories are the known server bugs to check for.
	Advisories advisory.List
}

// Facts hold the data that was read from the cluster. Zero fields were not read.
type Facts struct {
	Snapshot *catalog.Snapshot
	// PlanError is why no plan could be made; nil when there is one, or none is needed.
	PlanError error
	// BelongsToShardsh reports whether a database or collection belongs to shardsh itself; any run may move those.
	BelongsToShardsh func(namespace string) bool
	// Privileges are the privileges of the user; nil if there is no access control.
	Privileges *Privileges
	// Roles are the roles of the user: "engine@admin".
	Roles []string
	// Indexes are the indexes of the collections that move, by namespace.
	Indexes map[string]Indexes
	// Unmovable are the chunks that no split makes small enough to be moved.
	Unmovable []Unmovable
	// BalancerConflict says that the cluster's own balancer interferes; nil when it does not.
	BalancerConflict error
	// LeaseHeldErr says that another run of shardsh holds the lease, and QuiescedErr that the cluster is
	// quiesced.
	LeaseHeldErr, QuiescedErr error
	// DatabasesMovingPrimary are the databases with a running movePrimary.
	DatabasesMovingPrimary []string
}

// Obstacle is a finding that affects a run.
type Obstacle struct {
	diagnosis.Finding
	// Stops says that the run can't reach its goal. Otherwise the run takes longer, or does something
	// that the operator should know.
	Stops bool
	// Waits says that the run waits before its next step until the obstacle is gone.
	Waits bool
	// Option is an option of the run that removes the obstacle. OptionEffect says what the option does:
	// "moves it". Both are empty where no option helps.
	Option, OptionEffect string
	// Hint is a further remedy, for text output.
	Hint string
	// Err is the typed error with which the run would fail, or nil.
	Err error
}

// Text returns the obstacle and its remedy. spell formats the name of an option.
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

// MarshalJSON returns the finding as an object, with the fields of the obstacle.
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

// Report is the result of a preflight.
type Report struct {
	Verb string `json:"verb"`
	// Plan is the ID of the plan; empty without one.
	Plan string `json:"plan,omitzero"`
	// Ready says that nothing stops the run.
	Ready bool `json:"ready"`
	// Time is the cluster's time.
	Time time.Time `json:"time"`
	// Obstacles are the findings that stop the run, followed by those that do not.
	Obstacles []Obstacle `json:"obstacles"`
	// Unread names what could not be read, with the reasons.
	Unread []string `json:"unread,omitempty"`
}

// StoppingObstacles returns the obstacles that stop the run.
func (r Report) StoppingObstacles() []Obstacle {
	n := 0
	for n < len(r.Obstacles) && r.Obstacles[n].Stops {
		n++
	}
	return r.Obstacles[:n]
}

// Without returns the report without the findings of a code.
func (r Report) Without(code diagnosis.Code) Report {
	r.Obstacles = slices.DeleteFunc(slices.Clone(r.Obstacles), func(o Obstacle) bool { return o.Code == code })
	r.Ready = len(r.StoppingObstacles()) == 0
	return r
}

// Error says that a run was not begun, with the obstacles.
type Error struct{ Report Report }

// Error returns the message, with options named as fields of an object.
func (e *Error) Error() string { return e.SpellOptions(func(option string) string { return option }) }

// SpellOptions returns the message with the names of options formatted by spell.
func (e *Error) SpellOptions(spell func(option string) string) string {
	var texts []string
	stopping := e.Report.StoppingObstacles()
	for i, o := range stopping {
		if i+1 < len(stopping) && stopping[i+1].Hint == o.Hint {
			o.Hint = "" // the last obstacle has the hint
		}
		texts = append(texts, o.Text(spell))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%d obstacles: %s", len(texts), strings.Join(texts, "; "))
}

// Unwrap returns the errors with which the run would have failed.
func (e *Error) Unwrap() (list []error) {
	for _, o := range e.Report.StoppingObstacles() {
		if o.Err != nil {
			list = append(list, o.Err)
		}
	}
	return list
}

// Err returns an error when something stops the run: the run's own error if there is no other obstacle.
// Obstacles for which the run waits do not stop it.
func (r Report) Err() error {
	r.Obstacles = slices.DeleteFunc(slices.Clone(r.Obstacles), func(o Obstacle) bool { return o.Waits })
	stopping := r.StoppingObstacles()
	if len(stopping) == 0 {
		return nil
	}
	if len(stopping) == 1 && stopping[0].Err != nil {
		return stopping[0].Err
	}
	return &Error{r}
}

// Check returns the obstacles of a run.
func Check(run Run, facts Facts) Report {
	l := checker{Run: run, Facts: facts}
	report := Report{Verb: run.Verb, Time: facts.Snapshot.Time(), Obstacles: []Obstacle{}}
	if run.Plan != nil {
		report.Plan = run.Plan.ID
	}
	for _, part := range []func(){
		l.checkOtherRuns, l.checkWaits, l.checkKnownFaults, l.checkBalancer, l.checkPlanError,
		l.checkShards, l.checkRemaining, l.checkCollections, l.checkOperations, l.checkIndexes,
		l.checkUnmovable, l.checkDeletions, l.checkFreeSpace, l.checkVersions, l.checkPrivileges,
	} {
		part()
	}
	report.Obstacles = append(report.Obstacles, l.obstacles...)
	for i, o := range report.Obstacles {
		report.Obstacles[i].Stops = o.Stops && !slices.Contains(run.DespiteCodes, o.Code)
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
	report.Ready = len(report.StoppingObstacles()) == 0
	return report
}

// checker is the state of a check.
type checker struct {
	Run
	Facts
	obstacles []Obstacle
}

// addBlocking adds a finding that stops the run.
func (l *checker) addBlocking(f diagnosis.Finding) *Obstacle {
	return l.add(Obstacle{Finding: f, Stops: true})
}

// addGoalObstacle adds a finding that keeps the run from its goal. It does not stop a run with a limit.
func (l *checker) addGoalObstacle(f diagnosis.Finding) *Obstacle {
	return l.add(Obstacle{Finding: f, Stops: !l.Limited})
}

// addWarning adds a finding that does not stop the run.
func (l *checker) addWarning(f diagnosis.Finding) *Obstacle { return l.add(Obstacle{Finding: f}) }

func (l *checker) add(o Obstacle) *Obstacle {
	l.obstacles = append(l.obstacles, o)
	return &l.obstacles[len(l.obstacles)-1]
}

// isDrain reports whether the run empties a shard.
func (l *checker) isDrain() bool { return l.Shard != "" }

// stepSummary summarizes the steps that move a collection.
type stepSummary struct {
	from, to       []catalog.ShardID
	splitsOrMerges bool  // the plan has splits or merges
	donorSplits    bool  // the donor chooses the split points
	maxBytes       int64 // maximum bytes of a step
}

// movesByNamespace summarizes the steps by namespace.
func (l *checker) movesByNamespace() map[string]*stepSummary {
	list := map[string]*stepSummary{}
	for _, ns := range l.Namespaces {
		list[ns] = &stepSummary{}
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
			m = &stepSummary{}
			list[s.Namespace] = m
		}
		if s.Kind == plan.Move {
			add(&m.from, s.From)
			add(&m.to, s.To)
		} else {
			m.splitsOrMerges = true
		}
		m.donorSplits, m.maxBytes = m.donorSplits || s.KnownRange != nil, max(m.maxBytes, s.Bytes)
	}
	return list
}

// checkPlanError reports why no plan could be made.
func (l *checker) checkPlanError() {
	if l.PlanError != nil {
		found := diagnosis.NewFinding(diagnosis.NoPlan, diagnosis.Scope{Shard: l.Shard}, l.PlanError.Error())
		l.addBlocking(found).Err = l.PlanError
	}
}

// checkOtherRuns reports another run that holds the lease, or a quiesced cluster.
func (l *checker) checkOtherRuns() {
	if l.LeaseHeldErr != nil {
		l.addBlocking(diagnosis.NewFinding(diagnosis.LeaseHeld, diagnosis.Scope{},
			l.LeaseHeldErr.Error())).Err = l.LeaseHeldErr
	}
	if l.QuiescedErr != nil {
		l.addBlocking(diagnosis.NewFinding(diagnosis.Quiesced, diagnosis.Scope{}, l.QuiescedErr.Error(),
			"sh.quiesce({ end: true })")).Err = l.QuiescedErr
	}
	lease := l.Snapshot.Parts().Lease
	if lease != nil && !lease.Running && len(lease.PausedCollections) > 0 {
		f := diagnosis.PausedFinding(*lease, lease.PausedCollections)
		f.Sentence += "; this run will enable it again"
		l.addWarning(f)
	}
}

// MaxMoveBytes returns how many bytes donors of a release move at once, for a chunk size.
func MaxMoveBytes(r catalog.Release, chunkSize int64) int64 {
	if r.BalancesBySize() {
		return 2 * chunkSize
	}
	return chunkSize + chunkSize*3/10
}

// checkBalancer reports that the cluster's own balancer works on the collections.
func (l *checker) checkBalancer() {
	if l.BalancerConflict == nil {
		return
	}
	what := l.BalancerConflict.Error()
	var commands []string
	if e, ok := errors.AsType[*apply.BalancerConflictError](l.BalancerConflict); ok {
		what, commands = e.Summary(), []string{"sh.stopBalancer()"}
	}
	o := l.addBlocking(diagnosis.NewFinding(diagnosis.BalancerActive, diagnosis.Scope{}, what, commands...))
	o.Err = l.BalancerConflict
	if !l.PauseBalancing {
		o.Option, o.OptionEffect = "pauseBalancing", "pauses it during the run"
	}
}

// checkWaits reports why the run waits before its first step: a pause, or a change of the
// compatibility version.
func (l *checker) checkWaits() {
	for _, f := range diagnosis.WaitingRunFindings(l.Snapshot) {
		l.addBlocking(f).Waits = true
	}
}

// checkVersions reports that the servers run several releases.
func (l *checker) checkVersions() {
	for _, f := range diagnosis.VersionFindings(l.Snapshot) {
		l.addWarning(f)
	}
}
