package action

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/audit"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// under returns the cluster under a policy, and what is sent to it.
func (w *world) under(policies ...string) (Cluster, *counter) {
	w.Helper()
	sent := &counter{CommandRunner: live.NewCommandRunner(w.client)}
	c := w.actionCluster()
	c.ChangeRunner = sent
	for _, text := range policies {
		p, err := consent.Parse([]byte(text))
		if err != nil {
			w.Fatal(err)
		}
		p.File = "p.yaml"
		c.Policies = append(c.Policies, p)
	}
	return c, sent
}

// What a policy does not allow is refused before anything is sent, with the rule and the file.
func TestPolicyRefuses(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(10, 9)), stopped), catalog.Release80, 1)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
	with := func(o Pace) RunOptions {
		o.Parallel = max(1, o.Parallel)
		return RunOptions{Pace: o, NoJournal: true}
	}
	drain := func(o Pace) func(c Cluster) error {
		return func(c Cluster) error {
			_, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: with(o)}.Run(t.Context(), c, nil)
			return err
		}
	}
	balance := func(b Balance) func(c Cluster) error {
		b.Parallel = 1
		return func(c Cluster) error {
			_, err := b.Run(t.Context(), c, nil)
			return err
		}
	}
	apply := func(a Apply) func(c Cluster) error {
		return func(c Cluster) error {
			a.Plan, a.RunOptions = p, with(Pace{})
			_, err := a.Run(t.Context(), c, nil)
			return err
		}
	}
	for _, one := range []struct {
		policy, rule string
		run          func(c Cluster) error
	}{
		{"verbs: [apply, balance]", "verbs", drain(Pace{})},
		{"verbs: [apply]", "verbs", balance(Balance{All: true})},
		{"verbs: [apply]", "verbs", func(c Cluster) error {
			_, err := Quiesce{Hold: 1}.Run(t.Context(), c, nil)
			return err
		}},
		{"namespaces: [db.c0]", "namespaces", drain(Pace{})},
		{"namespaces: [db.c0]", "namespaces", apply(Apply{})},
		{"namespaces: [db.c0]", "namespaces", balance(Balance{Namespaces: []string{"db.c*"}})},
		{"namespaces: [db.c0]", "namespaces", balance(Balance{All: true})},
		{"hours: ['02:00-03:00 UTC']", "hours", drain(Pace{})},
		{"hours: ['02:00-03:00 UTC']", "hours", balance(Balance{All: true})},
		{"limits: {max-moves: 3}", "limits.max-moves", drain(Pace{MaxMoves: 4})},
		{"limits: {max-moves: 3}", "limits.max-moves", drain(Pace{MaxMoves: NoLimit})},
		{"limits: {max-bytes: 3GB}", "limits.max-bytes", drain(Pace{MaxBytes: 4e9})},
		{"limits: {for: 1h}", "limits.for", drain(Pace{MaxDuration: 1e15})},
		{"limits: {parallel: 1}", "limits.parallel", drain(Pace{Parallel: 2})},
		{"require-approval: true", "require-approval", drain(Pace{})},
		{"require-approval: true", "require-approval", apply(Apply{})},
	} {
		c, sent := w.under(one.policy)
		err := one.run(c)
		refused := new(consent.RefusedError)
		if !errors.As(err, &refused) || refused.Rule != one.rule || len(sent.sent) > 0 ||
			!strings.Contains(err.Error(), "the rule "+one.rule+" of the policy p.yaml") {
			t.Errorf("%s: %v, and was sent: %v", one.policy, err, sent.sent)
		}
		if dry := drain(Pace{}); one.rule == "verbs" && dry != nil {
			o := with(Pace{})
			o.DryRun = true
			if _, err := (Drain{Shard: "s0", RunOptions: o}).Run(t.Context(), c, nil); err != nil {
				t.Errorf("a dry run: %v", err)
			}
		}
	}
	w.well()
}

// A policy's limits are those of runs that name none, and a lower one of a run counts.
func TestPolicyLimits(t *testing.T) {
	for _, one := range []struct {
		policies []string
		given    int
		want     int
		note     bool
	}{
		{[]string{"limits: {max-moves: 3}"}, 0, 3, true},
		{[]string{"limits: {max-moves: 3}"}, 2, 2, false},
		{[]string{"defaults: {max-moves: 2}"}, 0, 2, true},
		{[]string{"defaults: {max-moves: 2}"}, 4, 4, false},
		{[]string{"limits: {max-moves: 4}", "limits: {max-moves: 1}"}, 0, 1, true},
		{[]string{"defaults: {max-moves: 5}", "limits: {max-moves: 3}"}, 0, 3, true},
	} {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(10, 9)), stopped), catalog.Release80, 1)
		c, _ := w.under(one.policies...)
		o := RunOptions{Pace: Pace{Parallel: 1, MaxMoves: one.given}, NoJournal: true}
		r, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: o}.Run(t.Context(), c, nil)
		if err != nil || r.MovesDone != one.want || strings.Contains(r.Stopped, ", set by policy p.yaml") != one.note {
			t.Errorf("%v, %d: %d moves, stopped: %q, %v", one.policies, one.given, r.MovesDone, r.Stopped, err)
		}
	}
	p, err := Consent{Policies: []*consent.Policy{{Defaults: consent.Limits{Moves: 5000}}}}.limitPace(Pace{})
	if err != nil || p.maxMoves() != 5000 || p.maxBytes() != DefaultMaxBytes {
		t.Errorf("a policy raises a default: %+v, %v", p, err)
	}
}

// A new plan about collections that a policy does not allow is not carried out, and what was
// switched off is given back. The audit of the policy has it.
func TestPolicyOfCommands(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(11, 9)), ""), catalog.Release80, 1)
	path := filepath.Join(t.TempDir(), "audit")
	c, _ := w.under("namespaces: ['db.c*']\naudit: " + path)
	o := RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true, PauseBalancing: true}
	_, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: o}.Run(t.Context(), c, nil)
	refused := new(consent.RefusedError) // app has its primary there
	if !errors.As(err, &refused) || refused.Rule != "namespaces" || !strings.Contains(err.Error(), "app.*") {
		t.Errorf("%v", err)
	}
	list := readAudit(t, w, path)
	if last := list[len(list)-1]; len(list) < 3 || list[0].Outcome != audit.Failed || last.Outcome != audit.Failed {
		t.Errorf("%+v", list)
	}
	w.well()
}
