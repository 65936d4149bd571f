package access

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// storedRole is the storage format of a created role.
type storedRole struct {
	Role       string     `bson:"role"`
	Database   string     `bson:"db"`
	Privileges []bson.Raw `bson:"privileges"`
	Roles      []Role     `bson:"roles"`
}

// Stored returns the role for storage.
func (def *RoleDefinition) Stored() (bson.Raw, error) {
	s := storedRole{Role: def.Role.Role, Database: def.Database, Roles: def.Roles}
	for _, p := range def.Privileges {
		raw, err := bson.Marshal(p.Document())
		if err != nil {
			return nil, err
		}
		s.Privileges = append(s.Privileges, raw)
	}
	return bson.Marshal(s)
}

// RestoreRole adds a stored role unless it exists.
func (d *Directory) RestoreRole(stored bson.Raw) error {
	var s storedRole
	if err := bson.Unmarshal(stored, &s); err != nil {
		return fmt.Errorf("stored role: %w", err)
	}
	def := &RoleDefinition{Role: Role{s.Role, s.Database}, Roles: s.Roles}
	for _, raw := range s.Privileges {
		p, err := ReadPrivilege(raw)
		if err != nil {
			return fmt.Errorf("stored role %s@%s: %w", s.Role, s.Database, err)
		}
		def.Privileges = append(def.Privileges, p)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := key{s.Database, s.Role}
	if d.roles[k] == nil {
		d.roles[k] = def
		d.clearGrants()
	}
	return nil
}
