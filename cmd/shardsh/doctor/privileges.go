package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/scripts"
)

// Resource is the resource of a privilege, in the form of the server.
type Resource struct {
	Cluster    bool   `bson:"cluster" json:"cluster"`
	Any        bool   `bson:"anyResource" json:"anyResource"`
	DB         string `bson:"db" json:"db"`
	Collection string `bson:"collection" json:"collection"`
	// Buckets is the name of a time series collection whose buckets are the resource; empty means all
	// buckets. Nil means another resource.
	Buckets *string `bson:"system_buckets" json:"system_buckets,omitempty"`
}

func (r Resource) String() string {
	switch {
	case r.Cluster:
		return "the cluster"
	case r.Buckets != nil && *r.Buckets == "":
		return "the buckets of all time series"
	case r.Buckets != nil:
		return r.DB + ".system.buckets." + *r.Buckets
	case r.DB == "" && r.Collection == "":
		return "all collections"
	case r.Collection == "":
		return r.DB + ".*"
	}
	return r.DB + "." + r.Collection
}

// covers reports whether a privilege on r applies to the other resource. A missing name stands for all,
// except system collections.
func (r Resource) covers(other Resource) bool {
	switch {
	case r.Any:
		return true
	case r.Cluster || other.Cluster:
		return r.Cluster && other.Cluster
	case r.DB != "" && r.DB != other.DB:
		return false
	case r.Buckets != nil && other.Buckets != nil:
		return *r.Buckets == "" || *r.Buckets == *other.Buckets
	case r.Buckets != nil:
		series, ok := strings.CutPrefix(other.Collection, "system.buckets.")
		return ok && (*r.Buckets == "" || *r.Buckets == series)
	case other.Buckets != nil:
		return *other.Buckets != "" && r.Collection == "system.buckets."+*other.Buckets
	case r.Collection == "":
		return !strings.HasPrefix(other.Collection, "system.")
	}
	return r.Collection == other.Collection
}

// Privilege is a resource with the allowed actions.
type Privilege struct {
	Resource Resource `bson:"resource" json:"resource"`
	Actions  []string `bson:"actions" json:"actions"`
}

// Role is a role that scripts/roles.js creates.
type Role struct {
	Name       string
	Privileges []Privilege // without those of the inherited role
	Inherits   []string
}

// Roles returns the roles that scripts/roles.js creates on a server of a version, in its order. It runs
// the script, so that there is only one list.
func Roles(version string) ([]Role, error) {
	source, err := scripts.Files.ReadFile("roles.js")
	if err != nil {
		return nil, err
	}
	vm := goja.New()
	var made []Role
	admin := map[string]any{
		"getRole": func() any { return nil },
		"runCommand": func(command map[string]any) (any, error) {
			role, err := parseRole(command)
			made = append(made, role)
			return map[string]any{"ok": 1}, err
		},
	}
	globals := map[string]any{
		"db": map[string]any{
			"version":      func() string { return version },
			"getSiblingDB": func(string) any { return admin },
		},
		// Only the function that runs the script is needed from the shared module.
		"require": func(string) any {
			run := map[string]any{"say": func(string) {}}
			return map[string]any{"script": func(_ any, act func(any) (any, error)) error {
				_, err := act(run)
				return err
			}}
		},
	}
	for name, value := range globals {
		if err := vm.Set(name, value); err != nil {
			return nil, err
		}
	}
	if _, err := vm.RunScript("roles.js", string(source)); err != nil {
		return nil, fmt.Errorf("the roles for %s: %w", version, err)
	}
	return made, nil
}

// parseRole parses a createRole command.
func parseRole(command map[string]any) (Role, error) {
	var doc struct {
		Name       string      `bson:"createRole"`
		Privileges []Privilege `bson:"privileges"`
		Roles      []string    `bson:"roles"`
	}
	raw, err := bson.Marshal(command)
	if err == nil {
		err = bson.Unmarshal(raw, &doc)
	}
	return Role{doc.Name, doc.Privileges, doc.Roles}, err
}

// MissingPrivileges returns the wanted privileges that are not held, by resource.
func MissingPrivileges(wanted, held []Privilege) (missing []Privilege) {
	for _, w := range wanted {
		lacks := slices.DeleteFunc(slices.Clone(w.Actions), func(action string) bool {
			return slices.ContainsFunc(held, func(h Privilege) bool {
				allows := slices.Contains(h.Actions, action) || slices.Contains(h.Actions, "anyAction")
				return allows && h.Resource.covers(w.Resource)
			})
		})
		if len(lacks) > 0 {
			missing = append(missing, Privilege{w.Resource, lacks})
		}
	}
	return missing
}

// purposes returns the purpose of each role.
func purposes() map[string]string {
	return map[string]string{
		"shardshLook":    "to read: check, why, report, plan, forecast, watch",
		"shardshEngine":  "to change data: apply, balance, drain, defragment",
		"shardshHelpers": "to change settings, zones, shards and keys with sh",
	}
}

// checkRoles reports which roles are covered by the privileges of a user. Without the first role hardly
// anything works; the others are for changes, which not every user should make.
func checkRoles(s *section, roles []Role, held []Privilege, user string) {
	unmet := make(map[string]bool)
	for i, role := range roles {
		var lacks []string
		for _, m := range MissingPrivileges(role.Privileges, held) {
			lacks = append(lacks, strings.Join(m.Actions, ", ")+" on "+m.Resource.String())
		}
		for _, below := range role.Inherits {
			if unmet[below] {
				lacks = append(lacks, "what "+below+" has")
			}
		}
		if len(lacks) == 0 {
			s.addOK(role.Name, "met: %s", purposes()[role.Name])
			continue
		}
		unmet[role.Name] = true
		grade, note := Warn, "; not needed for read-only use"
		if i == 0 {
			grade, note = Fail, ""
		}
		remedy := fmt.Sprintf("the role %s has it (load(\"shardsh:roles.js\") creates it): "+
			"db.getSiblingDB(\"admin\").grantRolesToUser(%q, [%q])%s", role.Name, user, role.Name, note)
		s.add(grade, role.Name, remedy, "not met (%s); missing: %s", purposes()[role.Name], strings.Join(lacks, "; "))
	}
}
