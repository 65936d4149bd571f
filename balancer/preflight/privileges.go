package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// Resource is a resource of a privilege.
type Resource struct {
	Cluster, Any         bool
	Database, Collection string
	// Buckets says that the resource is the buckets of time series collections; Collection has their
	// names without the prefix.
	Buckets bool
}

// Privilege is a set of actions on a resource. An empty database stands for any database except config
// and local, an empty collection for any that does not begin with "system.".
type Privilege struct {
	Resource
	Actions []string
}

// Privileges are the privileges of a user.
type Privileges []Privilege

// ParsePrivileges reads the reply of connectionStatus with showPrivileges. It returns nil where no user
// is authenticated.
func ParsePrivileges(reply bson.Raw) *Privileges {
	users, _ := reply.Lookup("authInfo", "authenticatedUsers").ArrayOK()
	if names, err := users.Values(); err != nil || len(names) == 0 {
		return nil
	}
	list := Privileges{}
	array, _ := reply.Lookup("authInfo", "authenticatedUserPrivileges").ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		doc, _ := v.DocumentOK()
		var p Privilege
		p.Cluster, _ = doc.Lookup("resource", "cluster").BooleanOK()
		p.Any, _ = doc.Lookup("resource", "anyResource").BooleanOK()
		p.Database, _ = doc.Lookup("resource", "db").StringValueOK()
		p.Collection, _ = doc.Lookup("resource", "collection").StringValueOK()
		if series, ok := doc.Lookup("resource", "system_buckets").StringValueOK(); ok {
			p.Collection, p.Buckets = series, true
		}
		actions, _ := doc.Lookup("actions").ArrayOK()
		names, _ := actions.Values()
		for _, name := range names {
			text, _ := name.StringValueOK()
			p.Actions = append(p.Actions, text)
		}
		list = append(list, p)
	}
	return &list
}

// ParseRoles returns the roles in a reply of connectionStatus, as "role@database".
func ParseRoles(reply bson.Raw) (roles []string) {
	array, _ := reply.Lookup("authInfo", "authenticatedUserRoles").ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		doc, _ := v.DocumentOK()
		role, _ := doc.Lookup("role").StringValueOK()
		database, _ := doc.Lookup("db").StringValueOK()
		roles = append(roles, role+"@"+database)
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// RolesText says which roles a user has.
func RolesText(roles []string) string {
	if len(roles) == 0 {
		return "the user has no role"
	}
	return "the user has " + strings.Join(roles, ", ")
}

// buckets is the name prefix of the buckets of time series collections.
const buckets = "system.buckets."

// Allows reports whether an action on a resource is allowed.
func (p Privileges) Allows(resource Resource, action string) bool {
	return slices.ContainsFunc(p, func(has Privilege) bool {
		return has.includes(resource) && (slices.Contains(has.Actions, action) || slices.Contains(has.Actions, "anyAction"))
	})
}

// includes reports whether privileges on r apply to another resource.
func (r Resource) includes(other Resource) bool {
	if r.Any || r.Cluster || other.Cluster {
		return r.Any || r.Cluster && other.Cluster
	}
	if r.Database != "" && r.Database != other.Database {
		return false
	}
	system := strings.HasPrefix(other.Collection, "system.")
	switch {
	case r.Buckets:
		series, ok := strings.CutPrefix(other.Collection, buckets)
		return ok && (r.Collection == "" || r.Collection == series)
	case r.Collection != "":
		return r.Collection == other.Collection
	case r.Database == "":
		return !system && other.Database != "config" && other.Database != "local"
	}
	return !system
}

// String names the resource for messages.
func (r Resource) String() string {
	switch {
	case r.Cluster:
		return "the cluster"
	case r.Collection == "":
		return "database " + r.Database
	}
	return r.Database + "." + r.Collection
}

// need is a group of actions that a run needs on a resource.
type need struct {
	resource Resource
	actions  []string
	why      string
	stops    bool
}

// transitionToDedicated is the action that removes config servers as a shard.
const transitionToDedicated = "transitionToDedicatedConfigServer"

// grantHint returns a hint which names the role that grants the missing actions, and how to create the
// role.
func grantHint(actions string) string {
	role := "shardshEngine"
	if actions == transitionToDedicated {
		role = "shardshHelpers"
	}
	return fmt.Sprintf("grant the role %s; load(\"shardsh:roles.js\") creates it, or brings it up to date", role)
}

// privilegeNeeds returns the privileges that the run needs, the most important first.
func (l *checker) privilegeNeeds() (list []need) {
	add := func(on Resource, why string, stops bool, actions ...string) {
		list = append(list, need{on, actions, why, stops})
	}
	add(Resource{Database: "shardsh", Collection: "leases"}, "for the lease of the run", true,
		"find", "insert", "update", "remove")
	release := l.Snapshot.Release()
	asks := []string{"splitChunk"}
	if release.ShowsSplitPoints() {
		asks = []string{"splitVector", "splitChunk"}
	}
	byNamespace := l.movesByNamespace()
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		on, m := resourceOf(ns), byNamespace[ns]
		moves := len(m.from) > 0 || l.Plan == nil
		if moves {
			add(on, "to move chunks", true, "moveChunk")
		}
		if m.splitsOrMerges {
			add(on, "to split and merge chunks", true, "splitChunk")
		}
		byDonor := release.FCVAtLeast(catalog.Release60) // donors split the moved ranges themselves
		cuts := m.donorSplits && m.splitsOrMerges || !byDonor && l.needsSplit(ns, m)
		if cuts {
			add(on, "to cut ranges", true, asks...)
		}
		if moves && !cuts {
			add(on, "to split ranges that are too large to be moved", false, asks...)
		}
		if l.PauseBalancing && release.HasBalancingCommand() {
			add(on, "to pause the balancing of collections", true, "moveChunk", "splitChunk")
		}
	}
	if l.PauseBalancing && !release.HasBalancingCommand() {
		add(Resource{Database: "config", Collection: "collections"}, "to pause the balancing of collections", true, "update")
	}
	if l.isDrain() {
		list = append(list, l.drainNeeds()...)
	}
	add(Resource{Cluster: true}, "to stop a move under way at the second Ctrl-C", false, "inprog", "killop")
	return list
}

// needsSplit reports whether a step is too large to be moved at once.
func (l *checker) needsSplit(ns string, m *stepSummary) bool {
	c := l.Snapshot.Collection(ns)
	if c == nil {
		return m.donorSplits
	}
	size := c.ChunkSize(l.Snapshot.Settings())
	return m.donorSplits || m.maxBytes > MaxMoveBytes(l.Snapshot.Release(), size)
}

// drainNeeds returns the privileges that a drain needs besides those for moving chunks.
func (l *checker) drainNeeds() (list []need) {
	if l.Remove {
		action := "removeShard"
		if l.Shard == catalog.ConfigServerID {
			action = transitionToDedicated
		}
		list = append(list, need{Resource{Cluster: true}, []string{action}, "to remove the shard", true})
	}
	if l.Shard != catalog.ConfigServerID && l.Snapshot.Release().HasDrainCommands() {
		list = append(list, need{Resource{Cluster: true}, []string{"shardDrainingStatus"}, "to ask how far the drain is",
			false})
	}
	shard, ok := l.Snapshot.Shard(l.Shard)
	if !ok || !l.MovePrimaries {
		return list
	}
	shard.Draining, shard.ReportedDrain = true, nil
	d := diagnosis.DrainOf(l.Snapshot, shard)
	for _, ns := range d.Collections {
		list = append(list, need{resourceOf(ns), []string{"moveCollection"}, "to move unsharded collections", true})
	}
	for _, name := range d.Databases {
		list = append(list, need{Resource{Database: name}, []string{"moveChunk"}, "to move primaries of databases", true})
	}
	return list
}

func resourceOf(ns string) Resource {
	database, collection, err := catalog.SplitNamespace(ns)
	if err != nil {
		return Resource{Database: ns}
	}
	return Resource{Database: database, Collection: collection}
}

// checkPrivileges reports missing privileges: one finding for each kind, regardless of the number of
// collections.
func (l *checker) checkPrivileges() {
	if l.Privileges == nil {
		return
	}
	type kind struct {
		actions, why string
		stops        bool
	}
	var order []kind
	lacking := map[kind][]string{}
	for _, n := range l.privilegeNeeds() {
		missing := slices.DeleteFunc(slices.Clone(n.actions),
			func(a string) bool { return l.Privileges.Allows(n.resource, a) })
		if len(missing) == 0 {
			continue
		}
		k := kind{strings.Join(missing, ", "), n.why, n.stops}
		if lacking[k] == nil {
			order = append(order, k)
		}
		if on := n.resource.String(); !slices.Contains(lacking[k], on) {
			lacking[k] = append(lacking[k], on)
		}
	}
	for _, k := range order {
		f := diagnosis.NewFinding(diagnosis.PrivilegeMissing, diagnosis.Scope{}, fmt.Sprintf(
			"the user lacks %s on %s, %s; %s", k.actions, humanize.AbbreviateCollections(lacking[k]), k.why, RolesText(l.Roles)))
		l.add(Obstacle{Finding: f, Stops: k.stops, Hint: grantHint(k.actions)})
	}
}
