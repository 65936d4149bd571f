package policy

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// rules/01-selection §7 and W19.
func TestChunkSizeRoundsUpToTwoDecimals(t *testing.T) {
	for bytes, want := range map[int64]float64{
		200000:         0.2,
		128 << 20:      128,
		1 << 20:        1,
		1<<20 + 1:      1.01,
		1:              0.01,
		64<<20 - 1:     64,
		1024 << 20:     1024,
		100<<20 + 5243: 100.01, // 0.01 MiB is 10485.76 bytes
	} {
		if got := chunkSizeMB(bytes); got != want {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}

func TestStatusReply(t *testing.T) {
	compliant := workedExample(t, "D01")
	small := workedExample(t, "D01")
	small.Unit, small.MaxChunk = "byte", 200000
	for _, tt := range []struct {
		name   string
		scene  scene
		defrag Defragmentation
		want   string
	}{
		{"compliant", compliant, Defragmentation{},
			`{"chunkSize":128.0,"balancerCompliant":true}`},
		{"small chunks", small, Defragmentation{},
			`{"chunkSize":0.2,"balancerCompliant":true}`},
		{"imbalance", workedExample(t, "D03"), Defragmentation{},
			`{"chunkSize":128.0,"balancerCompliant":false,"firstComplianceViolation":"chunksImbalance"}`},
		{"draining", workedExample(t, "R01"), Defragmentation{},
			`{"chunkSize":128.0,"balancerCompliant":false,"firstComplianceViolation":"draining"}`},
		{"misaligned zone", workedExample(t, "S01"), Defragmentation{},
			`{"chunkSize":128.0,"balancerCompliant":false,"firstComplianceViolation":"zoneViolation"}`},
		{"defragmentation without state", compliant, Defragmentation{Running: true},
			`{"chunkSize":128.0,"balancerCompliant":false,"firstComplianceViolation":"defragmentingChunks","details":{"currentPhase":"none"}}`},
		{"defragmentation", compliant, Defragmentation{Running: true, Phase: "mergeAndMeasureChunks", RemainingChunks: 3},
			`{"chunkSize":128.0,"balancerCompliant":false,"firstComplianceViolation":"defragmentingChunks","details":{"currentPhase":"mergeAndMeasureChunks","progress":{"remainingChunksToProcess":3}}}`},
		{"state left behind after defragmentation", compliant, Defragmentation{Phase: "finished"},
			`{"chunkSize":128.0,"balancerCompliant":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, err := CollectionStatus(tt.scene.situation(t), tt.defrag)
			if err != nil {
				t.Fatal(err)
			}
			got, err := bson.MarshalExtJSON(status.Doc(), false, false)
			if err != nil || string(got) != tt.want {
				t.Errorf("reply %s, %v\n       want %s", got, err, tt.want)
			}
		})
	}
}

func TestStatusPassesErrorsOn(t *testing.T) {
	sit := workedExample(t, "D01").situation(t)
	sit.Sizes.ByShard["oslo"] = -1 << 40
	if _, err := CollectionStatus(sit, Defragmentation{}); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("got %v, want InternalError", err)
	}
}
