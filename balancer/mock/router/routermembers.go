package router

import (
	"sync"

	"shardsh/balancer/mock"
)

// memberNodes are the member nodes that clients have connected to.
type memberNodes struct {
	mu    sync.Mutex
	nodes map[string]*Router // by host:port
}

// nodeFor returns the member at an address; nil if there is none.
func (m *memberNodes) nodeFor(first *Router, address string) *Router {
	if m == nil || address == first.Entry.Name {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if node := m.nodes[address]; node != nil {
		return node
	}
	is, found := memberAt(first.Cluster, address)
	if !found {
		return nil
	}
	member := Member{Shard: is.Shard, Set: is.Set, Address: is.Host}
	if len(is.MemberHosts) > 1 {
		member.Primary, member.MemberHosts = is.MemberHosts[0], is.MemberHosts
	}
	m.nodes[address] = member.NewNode(first)
	return m.nodes[address]
}

func memberAt(c *mock.Cluster, address string) (mock.MemberAddress, bool) {
	c.Lock()
	defer c.Unlock()
	for _, m := range c.Addresses().Members() {
		if m.Host == address {
			return m, true
		}
	}
	return mock.MemberAddress{}, false
}
