package router

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/wire"
)

// NewSibling creates another router of the same cluster, with a name for config.mongos. It has its own
// cursors, counters, parameters and routing table cache. All routers share users, sessions and query
// samples.
func (r *Router) NewSibling(name string) (*Router, error) {
	r.Cluster.Lock()
	defer r.Cluster.Unlock()
	entry, err := r.Cluster.Routers().Add(name)
	if err != nil {
		return nil, fmt.Errorf("router %s: %w", name, err)
	}
	another := &Router{&call.Node{
		Cluster: r.Cluster,
		Logger:  r.Logger,
		Stages:  r.Stages, Commands: r.Commands, CommandsOf: r.CommandsOf,
		ProcessID: bson.NewObjectID(),
		Started:   time.Now(),
		Entry:     entry,
		Cursors: call.Cursors{
			Rand: rand.New(
				rand.NewPCG(1, r.Cursors.Rand.Uint64()),
			),
			IdleTimeout: r.Cursors.IdleTimeout,
			MaxBytes:    r.Cursors.MaxBytes,
		},
		Counters:     call.NewCounters(),
		Parameters:   servers.DefaultParameters(r.Cluster.Release()),
		Routes:       &routing.Cache{},
		Budget:       r.Budget,
		Sessions:     r.Sessions,
		Analyzers:    r.Analyzers,
		SnapshotPath: r.SnapshotPath,

		Users: r.Users, AuthRequired: r.AuthRequired,
	}}
	r.Cluster.OnReplaced(func() { another.Routes.Forget("") })
	return another, nil
}

// SetAddress sets the address at which clients reach the first router of its cluster.
func (r *Router) SetAddress(address string) {
	r.Cluster.Lock()
	defer r.Cluster.Unlock()
	r.Cluster.Routers().SetFirstAddress(address)
}

// Routers are the routers of a cluster and its members, behind one listener. The address that a client
// has dialled, or the part of it after an @, selects the node. The first router handles all other
// addresses.
type Routers struct {
	first   *Router
	others  map[string]*Router
	members *memberNodes
}

var _ wire.Handler = Routers{}

// NewRouters returns n routers, including first. The others have the addresses mock2:27017, mock3:27017
// and so on.
func NewRouters(first *Router, n int) (Routers, error) {
	rs := Routers{first: first, others: map[string]*Router{}, members: &memberNodes{nodes: map[string]*Router{}}}
	for i := 2; i <= n; i++ {
		name := fmt.Sprintf("mock%d:27017", i)
		another, err := first.NewSibling(name)
		if err != nil {
			return rs, err
		}
		rs.others[name] = another
	}
	return rs, nil
}

// Names returns the addresses of the routers.
func (rs Routers) Names() []string {
	names := []string{rs.first.Entry.Name}
	return append(names, slices.Sorted(maps.Keys(rs.others))...)
}

func (rs Routers) routerFor(client *wire.ClientConn) *Router {
	if client == nil {
		return rs.first
	}
	address := client.Local[strings.LastIndexByte(client.Local, '@')+1:]
	if r := rs.others[address]; r != nil {
		return r
	}
	if r := rs.members.nodeFor(rs.first, address); r != nil {
		return r
	}
	return rs.first
}

// Handle passes the request to the router that the client has dialled.
func (rs Routers) Handle(ctx context.Context, req wire.Request) bson.Raw {
	return rs.routerFor(req.Client).Handle(ctx, req)
}

// Leave is called when a connection ends.
func (rs Routers) Leave(client *wire.ClientConn) { rs.routerFor(client).Leave(client) }
