package live

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Before 3.4 there is no command for the balancer: each mongos has one, which
// obeys config.settings and holds a lock in config.locks during a round
// (rules/01-selection §9.5).

// noJudgement is what is not known of a collection where nobody can be asked.
func noJudgement(ns string) catalog.Gap {
	return catalog.Gap{
		What: "balance", Namespace: ns, Reason: "servers before 4.4 don't say whether a collection is balanced",
	}
}

// aboutBalancer finds what both collections say of the balancer.
var aboutBalancer = bson.D{{Key: "_id", Value: balancerLock}}

// stateBefore34 makes of the documents what balancerStatus says later. Nobody
// counts the rounds.
func stateBefore34(settings, locks []bson.Raw) catalog.BalancerState {
	state := catalog.BalancerState{Mode: catalog.ModeFull}
	for _, doc := range settings {
		if isSet(doc.Lookup("stopped")) {
			state.Mode = catalog.ModeOff
		}
	}
	for _, doc := range locks {
		state.InRound = integer(doc, "state") > 0
	}
	return state
}
