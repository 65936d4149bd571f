package live

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// These are the roles that scripts/roles.js creates. Each role includes the roles before it.
const (
	RoleReader  = "shardshLook"
	RoleEngine  = "shardshEngine"
	RoleHelpers = "shardshHelpers"
)

// roleCommands are the commands of each role. For commands on databases other than admin, the
// collection is included.
var roleCommands = []struct {
	role     string
	commands []string
}{
	{RoleReader, []string{
		"$currentOp", "$shardedDataDistribution", "balancerStatus", "checkMetadataConsistency", "collStats", "connPoolStats",
		"dbStats", "getParameter", "getShardMap", "hostInfo", "listCollections", "listDatabases", "listIndexes", "listShards",
		"serverStatus", "shardDrainingStatus",
	}},
	{RoleEngine, []string{
		"abortMoveCollection", "commitShardRemoval", "configureCollectionBalancing", "killOp", "mergeAllChunksOnShard",
		"mergeChunks", "moveChunk", "moveCollection", "movePrimary", "moveRange", "removeShard", "setAllowMigrations",
		"split", "splitVector", "startShardDraining", "stopShardDraining", "update config.collections",
		"delete shardsh.leases", "findAndModify shardsh.leases", "findAndModify shardsh.jobs", "delete shardsh.journals",
		"find shardsh.journals", "insert shardsh.journals",
	}},
	{RoleHelpers, []string{
		"abortReshardCollection", "abortUnshardCollection", "addShard", "addShardToZone",
		"balancerCollectionStatus", "balancerStart", "balancerStop", "clearJumboFlag", "commitReshardCollection",
		"commitTransitionToDedicatedConfigServer", "enableSharding", "getTransitionToDedicatedConfigServerStatus",
		"refineCollectionShardKey", "removeShardFromZone", "reshardCollection", "shardCollection",
		"startTransitionToDedicatedConfigServer", "stopTransitionToDedicatedConfigServer",
		"transitionFromDedicatedConfigServer", "transitionToDedicatedConfigServer", "unshardCollection",
		"update config.settings", "updateZoneKeyRange",
	}},
}

// configReadCommands are the commands that shardshLook may run on all collections of config.
var configReadCommands = []string{"aggregate", "count", "distinct", "find"}

// findCommands are the commands that need the action find on the collection.
var findCommands = append([]string{"dataSize"}, configReadCommands...)

var (
	notAuthorized = regexp.MustCompile(`(?:\(Unauthorized\) )?not authorized on (\S+) to execute command \{ ?`)
	firstField    = regexp.MustCompile(`^"?(\w+)"?: (?:"([^"]*)"|[^,}]*)`)
	firstStage    = regexp.MustCompile(`pipeline: \[ ?\{ ?"?(\$\w+)`)
)

// ShortenUnauthorized shortens the server's message about a missing privilege in a text: the result
// names the command and the role that has the privilege, without the command's document.
func ShortenUnauthorized(text string) string {
	at := notAuthorized.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	database, rest := text[at[2]:at[3]], text[at[1]:]
	end := documentEnd(rest)
	command := firstField.FindStringSubmatch(rest[:end])
	if command == nil {
		return text
	}
	name, on := command[1], command[2]
	if found := firstStage.FindStringSubmatch(rest[:end]); found != nil && on == "" {
		name = found[1]
	}
	if database != "admin" {
		on = strings.TrimSuffix(database+"."+on, ".")
	}
	plain := "not authorized to run " + strings.TrimSuffix(name+" on "+on, " on ")
	if role := roleFor(name, on); role != "" {
		plain += fmt.Sprintf(" (grant the role %s; load(\"shardsh:roles.js\") creates it, or brings it up to date)", role)
	} else if strings.Contains(on, ".") && slices.Contains(findCommands, name) {
		plain += fmt.Sprintf(" (it takes the privilege find on %s, which no role of shardsh has)", on)
	}
	return text[:at[0]] + plain + strings.TrimPrefix(rest[end:], "}")
}

// documentEnd returns the index at which the document ends whose fields a text begins with: at its
// closing bracket, or at the end of the text.
func documentEnd(text string) int {
	depth, quoted := 0, false
	for i, c := range []byte(text) {
		switch {
		case c == '"' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return len(text)
}

// roleFor returns the first role that may run a command; empty if no role may run it.
func roleFor(command, on string) string {
	for _, n := range roleCommands {
		if slices.Contains(n.commands, command) || slices.Contains(n.commands, command+" "+on) {
			return n.role
		}
	}
	if strings.HasPrefix(on, "config.") && slices.Contains(configReadCommands, command) {
		return RoleReader
	}
	return ""
}
