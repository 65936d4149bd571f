package forecast

import (
	"slices"

	"shardsh/balancer/diagnosis"
)

// Obstacles returns what keeps the goal from being reached regardless of waiting. It returns nothing
// where all obstacles end by themselves.
func (f Forecast) Obstacles() (list []diagnosis.Finding) {
	if !f.Never {
		return nil
	}
	passing := []diagnosis.Code{
		diagnosis.ConfigUnreachable, diagnosis.ShardUnreachable, diagnosis.SettingsUnreadable, diagnosis.ShardSlow,
		diagnosis.BalanceUnknown,
	}
	for _, of := range f.BlockedBy {
		if of.Actor != diagnosis.Balancer && of.Severity > diagnosis.Info && !slices.Contains(passing, of.Code) {
			list = append(list, of)
		}
	}
	return list
}

// StuckObstacles returns Obstacles if the balancer makes no more progress towards the goal. It returns
// nothing where the balancer still has work.
func (f Forecast) StuckObstacles() []diagnosis.Finding {
	if !f.AssumesBalancerOn && f.High > 0 {
		return nil
	}
	return f.Obstacles()
}
