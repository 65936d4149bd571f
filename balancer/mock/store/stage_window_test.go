package store

import (
	"testing"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// The examples of MongoDB's manual for the window functions, and its rules for
// windows without numbers.
func TestWindowFunctions(t *testing.T) {
	at := func(seconds string) string { return `{"$date": "2020-05-18T14:10:` + seconds + `Z"}` }
	tests := []struct{ name, docs, sortBy, output, want string }{
		{"derivative", `[{"t": ` + at("00") + `, "y": 1295.1}, {"t": ` + at("30") + `, "y": 1295.63}]`, `{"t": 1}`,
			`{"$derivative": {"input": "$y", "unit": "hour"}, "window": {"range": [-30, 0], "unit": "second"}}`,
			`[null, 63.60000000002401]`},
		{"derivative of numbers", `[{"t": 1, "y": 1}, {"t": 3, "y": 5}, {"t": 3, "y": null}]`, `{"t": 1}`,
			`{"$derivative": {"input": "$y"}, "window": {"documents": [-1, 0]}}`, `[null, 2.0, null]`},
		{"derivative over the whole partition", `[{"t": 1, "y": 1}, {"t": 3, "y": 5}]`, `{"t": 1}`,
			`{"$derivative": {"input": "$y"}, "window": {"documents": ["unbounded", "unbounded"]}}`, `[2.0, 2.0]`},
		{"integral", `[{"t": ` + at("00") + `, "y": 2.95}, {"t": ` + at("30") + `, "y": 2.7}]`, `{"t": 1}`,
			`{"$integral": {"input": "$y", "unit": "hour"}, "window": {"range": ["unbounded", "current"], "unit": "hour"}}`,
			`[0.0, 0.023541666666666666]`},
		{"moving average", `[{"t": 1, "y": 13}, {"t": 2, "y": 15.4}, {"t": 3, "y": 12}, {"t": 4, "y": 11.7}]`, `{"t": 1}`,
			`{"$expMovingAvg": {"input": "$y", "N": 2}}`, `[13, 14.6, 12.866666666666667, 12.088888888888889]`},
		{"population", `[{"t": 1, "y": 2}, {"t": 2, "y": 4}, {"t": 3, "y": "x"}]`, `{"t": 1}`,
			`{"$covariancePop": ["$t", "$y"], "window": {"documents": ["unbounded", "current"]}}`, `[0.0, 0.5, 0.5]`},
		{"sample", `[{"t": 1, "y": 2}, {"t": 2, "y": 4}]`, `{"t": 1}`,
			`{"$covarianceSamp": ["$t", "$y"], "window": {"documents": ["unbounded", "current"]}}`, `[null, 1.0]`},
		{"linear fill", `[{"t": 1, "y": 500}, {"t": 2}, {"t": 3, "y": 515}, {"t": 4, "y": null}]`, `{"t": 1}`,
			`{"$linearFill": "$y"}`, `[500, 507.5, 515, null]`},
		{"moving average, to the last digit", `[{"t": 0}, {"t": 3}, {"t": 6}]`, `{"t": 1}`,
			`{"$expMovingAvg": {"input": "$t", "N": 2}}`, `[0, 2.0, 4.666666666666667]`},
		{"locf", `[{"t": 1}, {"t": 2, "y": 5}, {"t": 3}]`, `{"t": 1}`, `{"$locf": "$y"}`, `[null, 5, 5]`},
		{"rank", `[{"t": 1}, {"t": 1}, {"t": 2}]`, `{"t": 1}`, `{"$rank": {}}`, `[1, 1, 3]`},
		{"dense rank", `[{"t": 1}, {"t": 1}, {"t": 2}]`, `{"t": 1}`, `{"$denseRank": {}}`, `[1, 1, 2]`},
		{"a growing window", `[{"t": 1, "y": 1}, {"t": 2, "y": 2}, {"t": 3, "y": 3}]`, `{"t": 1}`,
			`{"$push": "$y", "window": {"documents": ["unbounded", "current"]}}`, `[[1], [1, 2], [1, 2, 3]]`},
		{"the whole partition", `[{"t": 1, "y": 1}, {"t": 2, "y": 2}]`, `{"t": 1}`, `{"$sum": "$y"}`, `[3, 3]`},
		{"what is ahead", `[{"t": 1, "y": 1}, {"t": 2, "y": 2}]`, `{"t": 1}`,
			`{"$sum": "$y", "window": {"documents": ["current", "unbounded"]}}`, `[3, 2]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stages := `[{"$setWindowFields": {"sortBy": ` + tt.sortBy + `, "output": {"r": ` + tt.output + `}}}]`
			got, err := aggregate(storetest.List(t, stages), pipeline.Env{}, storetest.List(t, tt.docs))
			if err != nil {
				t.Fatal(err)
			}
			var values []value.Value
			for _, doc := range document.Items(got) {
				values = append(values, document.Lookup(doc.Value, "r"))
			}
			sameReply(t, document.Array(values), value.Array(document.Lookup(storetest.Raw(t, `{"v": `+tt.want+`}`), "v").Value))
		})
	}
}
