package actiontext

import (
	"strings"
	"testing"

	"shardsh/balancer/action"
)

// What earlier runs of a journal have moved was not moved in the time of this one.
func TestResumedResult(t *testing.T) {
	for _, tt := range []struct {
		here int
		ms   int64
		want string
	}{
		{30, 60_000, "30 steps and 2 GiB moved in 1m."},
		{10, 20_000, "30 steps and 2 GiB moved, 10 steps of them now in 20s."},
		{0, 40, "30 steps and 2 GiB moved by earlier runs, nothing by this one."},
	} {
		text := PlanResult(action.PlanResult{
			PlanID: "plan-1", Finished: true, Steps: 30, StepsDone: 30, StepsThisRun: tt.here, Bytes: 2 << 30, BytesPlanned: 2 << 30, MS: tt.ms,
		})
		if !strings.HasSuffix(text, "is applied: "+tt.want) {
			t.Errorf("%d here: %s", tt.here, text)
		}
	}
}
