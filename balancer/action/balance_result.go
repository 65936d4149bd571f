package action

import (
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/preflight"
	"shardsh/balancer/runner"
)

// BalanceResult is the result of a run of Balance.
type BalanceResult struct {
	Event   string `json:"event"` // "result"; empty if no run began
	Reached bool   `json:"reached"`
	// Stopped says why the run ended early if there was no error. Error is the text of the error.
	Stopped    string     `json:"stopped,omitzero"`
	Error      string     `json:"error,omitzero"`
	Namespaces []string   `json:"namespaces"`
	Moves      int        `json:"moves"`
	Bytes      int64      `json:"bytes"`
	Failed     int        `json:"failed"`
	Splits     int        `json:"splits"`
	Rounds     int        `json:"rounds"`
	Left       []Leftover `json:"left"`
	MS         int64      `json:"millis"`

	// Preflight is the whole result of a run that only checks for obstacles.
	Preflight *preflight.Report `json:"-"`
	// Plan, OpsPreview or Heat is the whole result of a dry run.
	Plan       *plan.Plan  `json:"-"`
	OpsPreview *OpsPreview `json:"-"`
	Heat       *HeatPlan   `json:"-"`
}

// Leftover is something that the run did not change, with the reason.
type Leftover struct {
	Code      policy.Code `json:"code"`
	Namespace string      `json:"ns,omitzero"`
	Text      string      `json:"text"`
}

func balanceResult(r runner.Result, err error) BalanceResult {
	result := BalanceResult{
		Event: "result", Reached: r.Reached && err == nil, Stopped: r.Stopped, Namespaces: r.Namespaces,
		Moves: r.Done.Moves, Bytes: r.Done.Bytes, Failed: r.Failed, Splits: r.Splits, Rounds: r.Rounds, Left: []Leftover{},
		MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if result.Namespaces == nil {
		result.Namespaces = []string{}
	}
	for _, left := range r.Left {
		result.Left = append(result.Left, Leftover(left))
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}
