package members

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
)

// memberView is the state that a member shows instead of the state of a mongos.
type memberView struct{ *call.Member }

var _ call.MemberState = memberView{}

func (memberView) Read(c *call.Call, ns string) (*store.Collection, bool, error) {
	o, isOwn := internalCollectionOf(c, ns)
	if !isOwn {
		return nil, false, nil
	}
	docs, err := o.read(c)
	return docs, true, err
}

func (memberView) Stats(c *call.Call, ns string) (mock.LocalStats, bool) { return memberStats(c, ns) }

func (memberView) Parameter(c *call.Call, name string) (any, bool) { return memberParameter(c, name) }

func (memberView) ParameterNames() []string { return memberParameterNames() }

func (m memberView) Sections() []call.Section { return memberSections(m.Shard) }

func (memberView) Operations(c *call.Call, allUsers, idle bool) ([]bson.Raw, error) {
	return memberOps(c, allUsers, idle)
}

// Hello returns the replica set's fields of hello. It is called without the cluster's lock.
func (memberView) Hello(c *call.Call, role string) bson.D {
	lag := time.Duration(0)
	if c.Cluster.Faults().MayBeSlow() {
		c.Cluster.Lock()
		lag = secondaryLag(c)
		c.Cluster.Unlock()
	}
	return helloWithLag(c, role, lag)
}

// Services returns the roles of the member.
func (m memberView) Services() bson.A {
	if m.Shard == catalog.ConfigServerID {
		return bson.A{"config"}
	}
	return bson.A{"shard"}
}

// helloWithLag returns the fields of a primary's hello, in place of those of a mongos. lag is the
// replication lag of the secondary.
func helloWithLag(c *call.Call, role string, lag time.Duration) bson.D {
	m := c.Node.Member
	at := c.Cluster.IDs().ClusterTime()
	hosts, primary, majority := bson.A{m.Address}, m.Address, at
	if m.Primary != "" {
		primary, hosts = m.Primary, bson.A{}
		for _, host := range m.MemberHosts {
			hosts = append(hosts, host)
		}
	}
	if lag > 0 {
		hosts, majority = append(hosts, secondaryAddress(m)), timestampBefore(at, lag)
	}
	return bson.D{
		{Key: "hosts", Value: hosts},
		{Key: "setName", Value: m.Set},
		{Key: "setVersion", Value: int32(1)},
		{Key: role, Value: primary == m.Address},
		{Key: "secondary", Value: primary != m.Address},
		{Key: "primary", Value: primary},
		{Key: "me", Value: m.Address},
		{Key: "lastWrite", Value: bson.D{
			{Key: "opTime", Value: call.OpTime(at, term(c))}, {Key: "lastWriteDate", Value: dateOf(at)},
			{Key: "majorityOpTime", Value: call.OpTime(majority, term(c))}, {Key: "majorityWriteDate", Value: dateOf(majority)},
		}},
		{Key: "isImplicitDefaultMajorityWC", Value: true},
	}
}
