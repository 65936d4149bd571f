package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/whatif"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/checkcmd"
)

// readAction is an action that changes nothing.
type readAction[R any] interface {
	Run(ctx context.Context, source action.Source, r action.Reporter) (R, error)
}

// runReadAction runs such an action for a call, and answers with its text and the next
// steps.
func runReadAction[R any](ctx context.Context, c *call, verb readAction[R], answer func(R) Answer) (Answer, error) {
	source, err := c.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	result, err := verb.Run(ctx, source, c)
	if err != nil {
		return Answer{}, argumentError(err)
	}
	a := answer(result)
	a.Sources = append(a.Sources, c.sources()...)
	return a, nil
}

// argumentError replaces the names of options in an error by those of the tool's arguments, and adds a
// suggestion for a misspelled name.
func argumentError(err error) error {
	if named, ok := errors.AsType[action.OptionSpeller](err); ok {
		return errors.New(named.SpellOptions(argumentName))
	}
	return findings.WithSuggestion(err)
}

// argumentName returns the tool's argument for an option: maxBytes is max_bytes.
func argumentName(option string) string {
	return strings.ReplaceAll(strings.TrimPrefix(action.SpellAsFlag(option), "--"), "-", "_")
}

type whyArguments struct {
	NS    string `json:"ns,omitempty" jsonschema:"a collection, DB.COLLECTION; without one the whole cluster is explained"`
	Key   string `json:"key,omitempty" jsonschema:"with ns: a shard key in extended JSON, to explain where its chunk is"`
	Shard string `json:"shard,omitempty" jsonschema:"the id of a shard"`
	Zone  string `json:"zone,omitempty" jsonschema:"the name of a zone"`
	Long  bool   `json:"long,omitempty" jsonschema:"all that was found, with numbers"`
}

type checkArgs struct {
	NS   []string `json:"ns,omitempty" jsonschema:"only these collections; * is a wildcard"`
	Long bool     `json:"long,omitempty" jsonschema:"all collections, findings and rules"`
}

type goalArguments struct {
	Goal string   `json:"goal,omitempty" jsonschema:"balance (default), drain=SHARD, zones, defragment, consolidate, load"`
	NS   []string `json:"ns,omitempty" jsonschema:"only these collections; * is a wildcard"`
}

type planArguments struct {
	goalArguments
	MaxBytes  string `json:"max_bytes,omitempty" jsonschema:"end the plan before more would move: 100GB"`
	MaxMoves  int    `json:"max_moves,omitempty" jsonschema:"end the plan after this many moves"`
	DiskLimit string `json:"disk_limit,omitempty" jsonschema:"fill no volume of a shard beyond this share: 85%"`
	Why       bool   `json:"why,omitempty" jsonschema:"why each step is taken"`
}

type simulateArguments struct {
	Alternatives []string `json:"alternatives" jsonschema:"what to compare, changes with ; between: addShard 2; drain s3"`
}

func (s *Server) addReadTools() {
	add(s,
		tool{name: "why", description: "What is wrong with the cluster, or with a collection, shard or zone; why; who has " +
			"to act; and the commands that mend it. Begin here."},
		whyTool)
	add(s,
		tool{name: "check", description: "Whether the cluster keeps the rules of health and balance: passed, failed or " +
			"unknown, with what failed."},
		checkTool)
	add(s,
		tool{name: "plan", description: "The splits, moves and merges that would reach a goal, with reasons, bytes and " +
			"time. Changes nothing. Its hash is what a person approves."},
		planTool)
	add(s,
		tool{name: "forecast", description: "How long the cluster's own balancer takes to reach a goal, as a range that is " +
			"right nine times in ten."},
		forecastTool)
	add(s,
		tool{name: "simulate", description: "What comes of changes to a copy of the metadata, compared with no change. " +
			"Changes: " + changeUsage()},
		simulateTool)
}

func changeUsage() string {
	var kinds []string
	for _, k := range whatif.ChangeKinds() {
		kinds = append(kinds, k.Usage())
	}
	return strings.Join(kinds, "; ")
}

func whyTool(ctx context.Context, c *call, in whyArguments) (Answer, error) {
	verb := action.Why{Namespace: in.NS, Shard: catalog.ShardID(in.Shard), Zone: in.Zone}
	if in.Key != "" {
		if err := bson.UnmarshalExtJSON([]byte(in.Key), false, &verb.Key); err != nil {
			return Answer{}, fmt.Errorf("key is not valid extended JSON: %w", err)
		}
	}
	return runReadAction(ctx, c, verb, func(r action.WhyResult) Answer {
		about := r.Answer
		if r.Chunk != nil {
			about = &r.Chunk.Answer
		}
		return Answer{Answer: actiontext.Why(r, in.Long), NextSteps: whyNextSteps(*about)}
	})
}

// whyNextSteps returns the next steps for the findings, the most severe first.
func whyNextSteps(a diagnosis.Answer) (steps []string) {
	codes := make(map[diagnosis.Code]bool)
	for _, f := range slices.Concat(a.Symptoms, a.Causes) {
		if codes[f.Code] || len(codes) == 4 {
			continue
		}
		codes[f.Code] = true
		steps = append(steps, fmt.Sprintf("docs {\"query\": %q}: what this finding means", f.Code))
		if len(f.Commands) > 0 && f.Actor == diagnosis.Operator {
			steps = append(steps, "a person decides on, and runs: "+f.Commands[0])
		}
	}
	if !a.Healthy() {
		steps = append(steps, "plan {}: what would balance it", "forecast {}: how long its balancer takes")
	}
	return steps
}

func checkTool(ctx context.Context, c *call, in checkArgs) (Answer, error) {
	policy := check.Default()
	policy.Namespaces.Include = in.NS
	verb := action.Check{Policy: policy, ReadCounts: true}
	source, err := c.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	verb.Address = source.Origin.Name
	report, err := verb.Run(ctx, func(context.Context) (action.Source, error) { return source, nil }, c)
	if err != nil {
		return Answer{}, argumentError(err)
	}
	var text strings.Builder
	checkcmd.Text{Long: in.Long}.Write(&text, []check.Report{report})
	a := Answer{Answer: text.String(), Sources: append(c.sources(), "docs/check.md: the rules")}
	if report.Result == nil {
		return a, nil
	}
	a.Sources = append([]string{describeSource(source.Origin, report.Result.Time())}, a.Sources...)
	for _, f := range report.Result.FailingFindings() {
		step := fmt.Sprintf("why {\"ns\": %q}", f.About.Namespace)
		if f.About.Namespace != "" && !slices.Contains(a.NextSteps, step) {
			a.NextSteps = append(a.NextSteps, step)
		}
	}
	if report.Status() != check.Passed && len(a.NextSteps) == 0 {
		a.NextSteps = []string{"why {}"}
	}
	return a, nil
}

// parseGoal parses the goal; the default is balance.
func (g goalArguments) parseGoal() (plan.Goal, error) {
	if g.Goal == "" {
		return plan.Goal{Kind: plan.Balance, Namespaces: g.NS}, nil
	}
	goal, err := plan.ParseGoal(g.Goal)
	goal.Namespaces = g.NS
	return goal, err
}

func planTool(ctx context.Context, c *call, in planArguments) (Answer, error) {
	verb, err := in.action()
	if err != nil {
		return Answer{}, err
	}
	return runReadAction(ctx, c, verb, func(p *plan.Plan) Answer {
		a := Answer{Answer: findings.PlanText(p, findings.PlanDetail{Why: in.Why})}
		if len(p.Steps) == 0 {
			a.NextSteps = []string{"why {}: the remaining problems, if any"}
			return a
		}
		a.Hash = p.Hash
		a.NextSteps = []string{"forecast {}: how long the cluster's own balancer takes for the same"}
		if c.Plans == nil {
			a.NextSteps = append(a.NextSteps, "a person makes this plan with shardsh plan -o plan.json --json, reads it, "+
				"and runs shardsh apply plan.json --approve HASH")
			return a
		}
		if err := c.Plans.save(p); err != nil {
			a.Sources = append(a.Sources, "the plan could not be stored, so that it can't be approved: "+err.Error())
			return a
		}
		a.NextSteps = append(a.NextSteps, "a person reads and approves it on a terminal: "+c.Plans.approveCommand(p.Hash),
			fmt.Sprintf("then apply {\"hash\": %q}", p.Hash))
		return a
	})
}

func (p planArguments) action() (verb action.Plan, err error) {
	if verb.Goal, err = p.parseGoal(); err != nil {
		return verb, err
	}
	verb.MaxMoves = p.MaxMoves
	if p.MaxBytes != "" {
		if verb.MaxBytes, err = catalog.ParseSize(p.MaxBytes); err != nil {
			return verb, fmt.Errorf("max_bytes: %w", err)
		}
	}
	if p.DiskLimit != "" {
		if verb.DiskLimit, err = pace.ParseShare(p.DiskLimit); err != nil {
			return verb, fmt.Errorf("disk_limit: %w", err)
		}
	}
	return verb, nil
}

func forecastTool(ctx context.Context, c *call, in goalArguments) (Answer, error) {
	goal, err := in.parseGoal()
	if err != nil {
		return Answer{}, err
	}
	return runReadAction(ctx, c, action.Forecast{Goal: goal}, func(f forecast.Forecast) Answer {
		return Answer{
			Answer:    findings.ForecastText(f),
			NextSteps: []string{"why {}: what keeps the balancer from it", "plan {}: the moves it consists of"},
		}
	})
}

func simulateTool(ctx context.Context, c *call, in simulateArguments) (Answer, error) {
	var verb action.Simulate
	for _, text := range in.Alternatives {
		changes, err := whatif.ParseChanges(text)
		if err != nil {
			return Answer{}, fmt.Errorf("alternatives: %w", findings.WithSuggestion(err))
		}
		verb.Alternatives = append(verb.Alternatives, whatif.Alternative{Changes: changes})
	}
	return runReadAction(ctx, c, verb, func(out whatif.Outcomes) Answer {
		return Answer{
			Answer:    findings.WhatIfText(out, false),
			NextSteps: []string{"plan {}: what would be done without any change"},
		}
	})
}
