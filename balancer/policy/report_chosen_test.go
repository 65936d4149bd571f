package policy

import "testing"

// A report of what is chosen alone has the codes of chosen migrations, and no
// others.
func TestReportOfWhatIsChosen(t *testing.T) {
	for _, info := range Codes() {
		r := &Report{ChosenOnly: true}
		r.Add(Decision{Code: info.Code, Reason: stepOf(info)})
		if kept := len(r.Decisions) == 1; kept != info.Chosen {
			t.Errorf("%s: kept %v", info.Code, kept)
		}
	}
}

// stepOf is a reason that decisions with the code have.
func stepOf(info CodeInfo) Reason {
	if info.Chosen && info.Code != ChosenAtRandom {
		return Reason(info.Code)
	}
	return ReasonChunksImbalance
}
