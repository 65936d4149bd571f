package actiontext

import (
	"fmt"

	"shardsh/balancer/action"
)

// PauseResult returns lines which say whether runs are paused. end is the command that ends the pause.
func PauseResult(r action.PauseRunsResult, end string) (lines []string) {
	p := r.Pause()
	switch {
	case r.Error != "":
		lines = append(lines, "Runs of shardsh are paused already: "+p.String()+".",
			"To end it: "+end+". To replace it: --replace (replace: true).")
	case r.Paused && r.Done != "":
		lines = append(lines, fmt.Sprintf("Runs of shardsh are paused until %s: %s.", timeText(r.Until), r.Reason),
			"To end it earlier: "+end+".")
	case r.Paused:
		lines = append(lines, "Runs of shardsh are paused: "+p.String()+".", "To end it: "+end+".")
	case r.Done != "":
		return []string{"The pause has ended: " + p.String() + "."}
	default:
		return []string{"Runs of shardsh are not paused."}
	}
	if r.BalancerOn {
		lines = append(lines,
			"The cluster's own balancer is on: a pause does not stop it (sh.stopBalancer, or shardsh quiesce).")
	}
	return lines
}
