package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
)

type applyArguments struct {
	Hash           string `json:"hash" jsonschema:"the hash of an approved plan, all 64 digits"`
	PauseBalancing bool   `json:"pause_balancing,omitempty" jsonschema:"disable the cluster's balancing of them meanwhile"`
	For            string `json:"for,omitempty" jsonschema:"start no step after this time: 10m (default) to 1h"`
}

// Limits of the time in which a call of apply may start steps.
const (
	defaultApplyTime = 10 * time.Minute
	maxApplyTime     = time.Hour
)

func (s *Server) addApply() {
	add(s,
		tool{name: "apply", modifies: true, description: "Carries out a plan that a person has approved by its hash, and " +
			"no other; goes on with it when it was ended before. Nothing else changes the cluster."},
		applyTool)
}

func applyTool(ctx context.Context, c *call, in applyArguments) (Answer, error) {
	approved, err := c.Plans.Plan(in.Hash)
	if err != nil {
		return Answer{}, err
	}
	if err := c.Plans.checkApproved(in.Hash); err != nil {
		return Answer{}, err
	}
	verb := action.Apply{Plan: approved, ApprovedHash: in.Hash}
	verb.Parallel, verb.PauseBalancing, verb.MaxDuration = action.DefaultParallel, in.PauseBalancing, defaultApplyTime
	if in.For != "" {
		if verb.MaxDuration, err = time.ParseDuration(in.For); err != nil || verb.MaxDuration <= 0 ||
			verb.MaxDuration > maxApplyTime {
			return Answer{}, fmt.Errorf("for takes a time up to 1h, such as 10m, not %q", in.For)
		}
	}
	verb.Journal = c.Plans.journalPath(in.Hash)
	if _, err := os.Stat(verb.Journal); !errors.Is(err, fs.ErrNotExist) {
		verb.Plan, verb.ResumeJournal, verb.Journal = nil, verb.Journal, ""
	}
	cluster, err := c.Cluster(ctx)
	if err != nil {
		return Answer{}, err
	}
	result, err := verb.Run(ctx, cluster, c)
	if err != nil {
		return Answer{}, argumentError(err)
	}
	a := Answer{Answer: actiontext.PlanResult(result), Hash: in.Hash, Sources: append(c.sources(),
		"the plan and its journal: "+c.Plans.planPath(in.Hash))}
	if !result.Finished {
		a.NextSteps = append(a.NextSteps, fmt.Sprintf("apply {\"hash\": %q}: continues, if a limit ended it", in.Hash))
	}
	a.NextSteps = append(a.NextSteps, "check {}",
		"to undo it, a person runs: shardsh apply --undo "+c.Plans.journalPath(in.Hash))
	return a, nil
}
