package router

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
)

// self is what a member has for itself, and shows in place of what a mongos would.
type self struct{ *member }

var _ own = self{}

func (self) read(c *call, ns string) (*store.Collection, bool, error) {
	o, isOwn := ownCollectionOf(c, ns)
	if !isOwn {
		return nil, false, nil
	}
	docs, err := o.read(c)
	return docs, true, err
}

func (self) stats(c *call, ns string) (mock.LocalStats, bool) { return memberStats(c, ns) }

func (self) parameter(c *call, name string) (any, bool) { return memberParameter(c, name) }

func (self) parameterNames() []string { return memberParameterNames() }

func (m self) sections() []section { return memberSections(m.ID) }

func (self) operations(c *call, allUsers bool) ([]bson.Raw, error) { return memberOps(c, allUsers) }

// hello is asked without the cluster's lock.
func (self) hello(c *call, role string) bson.D {
	lag := time.Duration(0)
	if c.cluster.Faults().MayBeSlow() {
		c.cluster.Lock()
		lag = c.lag()
		c.cluster.Unlock()
	}
	return helloBehind(c, role, lag)
}

// services are the roles of the member.
func (m self) services() bson.A {
	if m.ID == mock.ConfigServerID {
		return bson.A{"config"}
	}
	return bson.A{"shard"}
}

// helloBehind returns what a primary says of its set, in place of a mongos's role, with a
// secondary that is so long behind.
func helloBehind(c *call, role string, lag time.Duration) bson.D {
	m := c.node.member
	at := c.cluster.GossipTime()
	hosts, majority := bson.A{m.Address}, at
	if lag > 0 {
		hosts, majority = append(hosts, m.secondary()), before(at, lag)
	}
	return bson.D{
		{Key: "hosts", Value: hosts},
		{Key: "setName", Value: m.Set},
		{Key: "setVersion", Value: int32(1)},
		{Key: role, Value: true},
		{Key: "secondary", Value: false},
		{Key: "primary", Value: m.Address},
		{Key: "me", Value: m.Address},
		{Key: "lastWrite", Value: bson.D{
			{Key: "opTime", Value: opTime(at, c.term())}, {Key: "lastWriteDate", Value: dateOf(at)},
			{Key: "majorityOpTime", Value: opTime(majority, c.term())}, {Key: "majorityWriteDate", Value: dateOf(majority)},
		}},
		{Key: "isImplicitDefaultMajorityWC", Value: true},
	}
}
