package diagnosis

import (
	"fmt"

	"shardsh/balancer/catalog"
)

// WaitingRunFindings says why runs of shardsh wait: a pause, or a change of the feature compatibility version.
func WaitingRunFindings(s *catalog.Snapshot) (list []Finding) {
	p := s.Parts()
	if p.RunsPause != nil && p.RunsPause.Active {
		f := finding(RunsPaused, Scope{}, "runs of shardsh are paused: "+p.RunsPause.String(), "shardsh pause --end")
		f.Since = p.RunsPause.Since
		list = append(list, f)
	}
	if p.Compatibility.Changing() {
		text := fmt.Sprintf("the feature compatibility version is %v: runs of shardsh wait", p.Compatibility)
		if p.Compatibility.MovesMetadataToShards() {
			text += "; no chunk is split, merged or moved, also by the balancer, and movePrimary is refused (117)"
		}
		list = append(list, finding(VersionChanging, Scope{}, text))
	}
	return list
}
