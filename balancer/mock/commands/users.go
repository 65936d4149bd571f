package commands

import (
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// userCommands returns the commands for users and roles.
func userCommands() []Command {
	return []Command{
		{Name: "saslStart", Stable: true, WithoutLock: true, Effect: Reads, NoAuth: true},
		{Name: "saslContinue", Stable: true, WithoutLock: true, Effect: Reads, NoAuth: true},
		{Name: "logout", WithoutLock: true, Effect: Reads, NoAuth: true},
		{
			Name: "connectionStatus", Effect: Reads, NoAuth: true, Strict: true,
			Fields: fields(required(args.Any, "connectionStatus"), optional(args.SafeBool, "showPrivileges")),
		},

		{
			Name: "createUser", WriteConcern: true, Effect: Writes,
			Privilege: access.AllOf(access.OnDatabase("createUser"), access.MayGrant), Strict: true,
			Fields: fields(
				required(args.String, "createUser"), required(args.Array, "roles"), optional(args.String, "pwd"),
				optional(args.Array, "mechanisms", "authenticationRestrictions"),
				optional(args.Object, "customData"), optional(args.SafeBool, "digestPassword"),
			),
		},
		{
			Name: "updateUser", WriteConcern: true, Effect: Writes, Privilege: access.MayUpdateUser,
			Strict: true,
			Fields: fields(
				required(args.String, "updateUser"), optional(args.String, "pwd"),
				optional(args.Array, "roles", "mechanisms", "authenticationRestrictions"),
				optional(args.Object, "customData"), optional(args.SafeBool, "digestPassword"),
			),
		},
		{
			Name: "dropUser", WriteConcern: true, Effect: Writes, Privilege: access.OnDatabase("dropUser"),
			Strict: true,
			Fields: fields(required(args.String, "dropUser")),
		},
		{
			Name: "dropAllUsersFromDatabase", WriteConcern: true, Effect: Writes,
			Privilege: access.OnDatabase("dropUser"), Strict: true,
			Fields: fields(required(args.Any, "dropAllUsersFromDatabase")),
		},
		{
			Name: "usersInfo", Effect: Reads, Privilege: access.MayViewUsers, Strict: true,
			Fields: fields(
				required(args.Any, "usersInfo"), optional(args.Object, "filter"),
				optional(args.SafeBool, "showPrivileges", "showCredentials", "showAuthenticationRestrictions", "showCustomData"),
			),
		},

		{
			Name: "createRole", WriteConcern: true, Effect: Writes,
			Privilege: access.AllOf(access.OnDatabase("createRole"), access.MayGrant, access.MayGrantPrivileges),
			Strict:    true,
			Fields: fields(
				required(args.String, "createRole"), required(args.Array, "privileges", "roles"),
				optional(args.Array, "authenticationRestrictions"),
			),
		},
		{
			Name: "updateRole", WriteConcern: true, Effect: Writes,
			Privilege: access.AllOf(access.OnDatabase("revokeRole"), access.MayGrant, access.MayGrantPrivileges),
			Strict:    true,
			Fields: fields(
				required(args.String, "updateRole"),
				optional(args.Array, "privileges", "roles", "authenticationRestrictions"),
			),
		},
		{
			Name: "dropRole", WriteConcern: true, Effect: Writes, Privilege: access.OnDatabase("dropRole"),
			Strict: true,
			Fields: fields(required(args.String, "dropRole")),
		},
		{
			Name: "dropAllRolesFromDatabase", WriteConcern: true, Effect: Writes,
			Privilege: access.OnDatabase("dropRole"), Strict: true,
			Fields: fields(required(args.Any, "dropAllRolesFromDatabase")),
		},
		{
			Name: "grantRolesToUser", WriteConcern: true, Effect: Writes, Privilege: access.MayGrant,
			Strict: true,
			Fields: fields(required(args.String, "grantRolesToUser"), required(args.Array, "roles")),
		},
		{
			Name: "revokeRolesFromUser", WriteConcern: true, Effect: Writes, Privilege: access.MayRevoke,
			Strict: true,
			Fields: fields(required(args.String, "revokeRolesFromUser"), required(args.Array, "roles")),
		},
		{
			Name: "grantRolesToRole", WriteConcern: true, Effect: Writes, Privilege: access.MayGrant,
			Strict: true,
			Fields: fields(required(args.String, "grantRolesToRole"), required(args.Array, "roles")),
		},
		{
			Name: "revokeRolesFromRole", WriteConcern: true, Effect: Writes, Privilege: access.MayRevoke,
			Strict: true,
			Fields: fields(required(args.String, "revokeRolesFromRole"), required(args.Array, "roles")),
		},
		{
			Name: "grantPrivilegesToRole", WriteConcern: true, Effect: Writes,
			Privilege: access.MayGrantPrivileges, Strict: true,
			Fields: fields(required(args.String, "grantPrivilegesToRole"), required(args.Array, "privileges")),
		},
		{
			Name: "revokePrivilegesFromRole", WriteConcern: true, Effect: Writes,
			Privilege: access.MayRevokePrivileges, Strict: true,
			Fields: fields(
				required(args.String, "revokePrivilegesFromRole"), required(args.Array, "privileges"),
			),
		},
		{
			Name: "rolesInfo", Effect: Reads, Privilege: access.MayViewRoles, Strict: true,
			Fields: fields(
				required(args.Any, "rolesInfo"), optional(args.Any, "showPrivileges"),
				optional(args.SafeBool, "showBuiltinRoles", "showAuthenticationRestrictions"),
			),
		},
	}
}
