package servers

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

func diagnosticHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"buildInfo":          BuildInfo,
		"getLog":             getLog,
		"hostInfo":           hostInfo,
		"getCmdLineOpts":     getCmdLineOpts,
		"listCommands":       listCommands,
		"testVersion2":       call.OK, // drivers' tests use it as a command outside of Stable API version 1
		"serverStatus":       ServerStatus,
		"isdbgrid":           isDBGrid,
		"netstat":            netstat,
		"getShardMap":        getShardMap,
		"getShardVersion":    routerShardVersion,
		"getDatabaseVersion": getDatabaseVersion,
		"flushRouterConfig":  flushRouterConfig,
	}
}

// GitVersion stands for the commit of the server's build.
const GitVersion = "0000000000000000000000000000000000000000"

// BuildInfo returns the release and the build options of the server.
func BuildInfo(c *call.Call) (bson.D, error) {
	return bson.D{
		{Key: "version", Value: mock.FullVersion(c.Node.Release())},
		{Key: "gitVersion", Value: GitVersion},
		{Key: "modules", Value: bson.A{}},
		{Key: "allocator", Value: "system"},
		{Key: "javascriptEngine", Value: "none"},
		{Key: "sysInfo", Value: "deprecated"},
		{Key: "versionArray", Value: mock.VersionArray(c.Node.Release())},
		{Key: "openssl", Value: bson.D{{Key: "running", Value: "disabled"}, {Key: "compiled", Value: "disabled"}}},
		{Key: "buildEnvironment", Value: bson.D{{Key: "target_arch", Value: runtime.GOARCH},
			{Key: "target_os", Value: runtime.GOOS}}},
		{Key: "bits", Value: int32(64)},
		{Key: "debug", Value: false},
		{Key: "maxBsonObjectSize", Value: int32(document.MaxSize)},
	}, nil
}

func getLog(c *call.Call) (bson.D, error) {
	name, isText := c.Body.Lookup("getLog").StringValueOK()
	switch {
	case !isText:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Argument to getLog must be of type String")
	case name == "*":
		return bson.D{{Key: "names", Value: bson.A{"global", "startupWarnings"}}}, nil
	case name == "global" || name == "startupWarnings":
		return bson.D{{Key: "totalLinesWritten", Value: int32(0)}, {Key: "log", Value: bson.A{}}}, nil
	}
	return nil, mongoerr.New(mongoerr.OperationFailed, "No log named '%s'", name)
}

func hostInfo(c *call.Call) (bson.D, error) {
	name, _ := os.Hostname()
	return bson.D{
		{Key: "system", Value: bson.D{
			{Key: "currentTime", Value: bson.NewDateTimeFromTime(c.Cluster.Now())},
			{Key: "hostname", Value: name},
			{Key: "cpuAddrSize", Value: int32(64)},
			{Key: "memSizeMB", Value: hostMegabytes},
			{Key: "memLimitMB", Value: hostMegabytes},
			{Key: "numCores", Value: int32(runtime.NumCPU())},
			{Key: "numCoresAvailableToProcess", Value: int32(runtime.NumCPU())},
			{Key: "numPhysicalCores", Value: int32(runtime.NumCPU())},
			{Key: "numCpuSockets", Value: int32(1)},
			{Key: "cpuArch", Value: architecture()},
			{Key: "numaEnabled", Value: false},
			{Key: "numNumaNodes", Value: int32(1)},
		}},
		{Key: "os", Value: bson.D{{Key: "type", Value: systemName()}, {Key: "name", Value: "mock"},
			{Key: "version", Value: ""}}},
		{Key: "extra", Value: bson.D{}},
	}, nil
}

// hostMegabytes is the memory size that hostInfo reports.
const hostMegabytes = int64(4096)

// architecture and systemName return the server's names for the machine's architecture and operating
// system.
func architecture() string {
	if name, differs := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; differs {
		return name
	}
	return runtime.GOARCH
}

func systemName() string {
	if name, differs := map[string]string{"linux": "Linux", "windows": "Windows",
		"darwin": "Darwin"}[runtime.GOOS]; differs {
		return name
	}
	return runtime.GOOS
}

func getCmdLineOpts(c *call.Call) (bson.D, error) {
	config, port := c.Cluster.Addresses().ConfigServer(), 27017
	for _, r := range c.Cluster.Routers().List() {
		if r.Node != c.Node.Entry.Node {
			continue
		}
		if n, err := strconv.Atoi(r.Address[strings.LastIndexByte(r.Address, ':')+1:]); err == nil {
			port = n
		}
	}
	return bson.D{
		{Key: "argv", Value: bson.A{"mongos", "--port", strconv.Itoa(port), "--configdb", config}},
		{Key: "parsed", Value: bson.D{
			{Key: "net", Value: bson.D{{Key: "port", Value: int32(port)}}},
			{Key: "sharding", Value: bson.D{{Key: "configDB", Value: config}}},
		}},
	}, nil
}

// listCommands returns the command table.
func listCommands(c *call.Call) (bson.D, error) {
	list := bson.D{}
	for name, cmd := range c.Node.Table() {
		if name != cmd.Name || c.Node.Command(name) == nil {
			continue
		}
		versions := bson.A{}
		if cmd.Stable {
			versions = bson.A{"1"}
		}
		list = append(list, bson.E{Key: name, Value: bson.D{
			{Key: "help", Value: ""}, {Key: "requiresAuth", Value: !cmd.NoAuth},
			{Key: "secondaryOk", Value: true}, {Key: "adminOnly", Value: cmd.AdminOnly},
			{Key: "apiVersions", Value: versions}, {Key: "deprecatedApiVersions", Value: bson.A{}},
		}})
	}
	call.SortFields(list)
	return bson.D{{Key: "commands", Value: list}}, nil
}

func isDBGrid(c *call.Call) (bson.D, error) {
	host, _, _ := strings.Cut(c.Node.Host(), ":")
	return bson.D{{Key: "isdbgrid", Value: int32(1)}, {Key: "hostname", Value: host}}, nil
}

func netstat(c *call.Call) (bson.D, error) {
	configServer := c.Cluster.Addresses().ConfigServer()
	return bson.D{{Key: "configserver", Value: configServer}, {Key: "isdbgrid", Value: int32(1)}}, nil
}

// getShardMap returns the shards sorted by id and then the config server, as recorded. Example E95 in
// rules/03-helpers-examples-traps §7 has the config server first.
func getShardMap(c *call.Call) (bson.D, error) {
	shards, err := c.Cluster.ConfigDB().Shards()
	if err != nil {
		return nil, err
	}
	names, hosts, strs := bson.D{}, bson.D{}, bson.D{}
	add := func(id, host string) {
		names = append(names, bson.E{Key: id, Value: host})
		strs = append(strs, bson.E{Key: host, Value: id})
		_, members, _ := strings.Cut(host, "/")
		for m := range strings.SplitSeq(members, ",") {
			hosts = append(hosts, bson.E{Key: m, Value: id})
		}
	}
	for _, s := range shards {
		if s.ID != catalog.ConfigServerID {
			add(string(s.ID), s.Host)
		}
	}
	add(string(catalog.ConfigServerID), c.Cluster.Addresses().ConfigServer())
	return bson.D{{Key: "map", Value: names}, {Key: "hosts", Value: hosts}, {Key: "connStrings", Value: strs}}, nil
}
