package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
)

// stepTimes holds the durations of the completed steps of a migration, on both sides.
type stepTimes struct {
	began            time.Time
	donorStepEnded   time.Time // the end of the donor's last step
	donor, recipient []time.Duration
	times            [donorSteps + recipientSteps]time.Duration // the storage of both slices
}

func (s *stepTimes) begin(now time.Time) {
	s.began, s.donorStepEnded = now, now
	s.donor, s.recipient = s.times[:0:donorSteps], s.times[donorSteps:donorSteps]
}

func (s *stepTimes) endDonorStep(now time.Time) {
	s.donor = append(s.donor, now.Sub(s.donorStepEnded))
	s.donorStepEnded = now
}

// endRecipientSteps ends the recipient's steps up to n. Steps that the mock does not distinguish take no
// time.
func (s *stepTimes) endRecipientSteps(now time.Time, n int) {
	spent := now.Sub(s.began)
	for _, d := range s.recipient {
		spent -= d
	}
	for len(s.recipient) < n-1 {
		s.recipient = append(s.recipient, 0)
	}
	s.recipient = append(s.recipient, spent)
}

// stepNames are the names of the steps of a donor and of a recipient, by their number.
var stepNames = map[int][]string{
	donorSteps: {"step 1 of 6", "step 2 of 6", "step 3 of 6", "step 4 of 6", "step 5 of 6", "step 6 of 6"},
	recipientSteps: {
		"step 1 of 8",
		"step 2 of 8",
		"step 3 of 8",
		"step 4 of 8",
		"step 5 of 8",
		"step 6 of 8",
		"step 7 of 8",
		"step 8 of 8",
	},
}

// writeSteps logs the durations of the completed steps of a shard. all is the total number of steps.
func (cl *configLogs) writeSteps(
	by catalog.ShardID, what string, req *MoveRequest, times []time.Duration, all int, note string,
) {
	start, dst := bsoncore.AppendDocumentStart(cl.scratch[:0])
	for i, d := range times {
		dst = bsoncore.AppendInt32(appendFieldHeader(dst, bson.TypeInt32, stepNames[all][i]), int32(d.Milliseconds()))
	}
	min, max := req.Min, req.Max
	if min == nil || max == nil { // never computed
		min, max = document.Empty, document.Empty
	}
	dst = appendDocument(dst, "min", min)
	dst = appendDocument(dst, "max", max)
	dst = appendText(dst, "to", req.To)
	dst = appendText(dst, "from", req.From)
	cl.scratch = closeDocument(appendText(dst, "note", note), start)
	cl.writeChangeEncoded(by, what, req.Namespace, cl.scratch)
}
