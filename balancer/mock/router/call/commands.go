package call

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// InitialStage is a first stage that makes documents instead of changing them.
type InitialStage struct {
	// Database: run with {aggregate: 1}.
	Database bool
	// AdminOnly stages answer on admin only.
	AdminOnly bool
	// ChecksPlace: the stage checks the database itself, with an error code of its own.
	ChecksPlace bool
	// Since is the first release that has it; zero is all of them.
	Since catalog.Release
	Run   func(c *Call, ns string, spec bson.RawValue) ([]bson.Raw, error)
}

// Handler answers a command.
type Handler func(*Call) (bson.D, error)

// Command is a command with what answers it.
type Command struct {
	*commands.Command
	Run Handler
}

// Command returns what there is to know of a command; nil where there is none of that
// name.
func (n *Node) Command(name string) *Command {
	if cmd := n.Table()[name]; cmd != nil && (!cmd.TestOnly || TestCommands(n.Cluster)) {
		return cmd
	}
	return nil
}

// Table returns the commands of the release that runs on the node.
func (n *Node) Table() map[string]*Command {
	installed := n.Release()
	if installed == n.Cluster.Release() || n.CommandsOf == nil {
		return n.Commands
	}
	if known := n.installed.Load(); known != nil && known.release == installed {
		return known.commands
	}
	table := n.CommandsOf(installed)
	n.installed.Store(&installedCommands{installed, table})
	return table
}

// Section is one part of serverStatus, made when it is asked for.
type Section struct {
	Name string
	Show func(*Call) any
}

// OK answers a command without any effect or result.
func OK(*Call) (bson.D, error) { return bson.D{}, nil }

// MergeMaps merges maps of commands, or of stages.
func MergeMaps[V any](families ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, family := range families {
		maps.Copy(all, family)
	}
	return all
}
