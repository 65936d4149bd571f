package main

import (
	"net/url"
	"strconv"
	"strings"
)

const (
	defaultHost = "127.0.0.1"
	defaultPort = "27017"
	// localSelectionTimeout is how long the driver looks for a server on this
	// machine (spec 04 §1.3); elsewhere its own default holds.
	localSelectionTimeout = "2000"
)

// connectionString returns what the address and the options say together (spec
// 04 §1.3 and §1.4).
func (s server) connectionString() (*connectionString, error) {
	c, err := s.base()
	if err != nil {
		return nil, err
	}
	if s.username != "" {
		c.user, c.password = &s.username, nil
	}
	if s.password.given && s.password.value != "" {
		c.password = &s.password.value
	}
	for _, p := range s.parameters() {
		c.set(p.name, p.value)
	}
	return withDefaults(c), nil
}

// base returns the connection string of the address, --host and --port.
func (s server) base() (*connectionString, error) {
	if err := s.checkHost(); err != nil {
		return nil, err
	}
	if isURI(s.address) {
		if s.host != "" || s.port != "" {
			return nil, usagef("the address is a whole connection string; it can't be used together with --host or --port")
		}
		c, err := parseConnectionString(s.address)
		if err != nil {
			return nil, usageError{err}
		}
		return c, nil
	}
	setName, hostText, isSet := strings.Cut(s.host, "/")
	if !isSet {
		setName, hostText = "", s.host
	}
	hosts, err := s.hosts(hostText)
	if err != nil {
		return nil, err
	}
	host, database := "", s.address
	if !isSet {
		if host, database, err = splitAddress(s.address); err != nil {
			return nil, err
		}
	}
	if strings.ContainsAny(database, "/\\. \"$\x00") {
		return nil, usagef("%q can't be the name of a database", database)
	}
	switch {
	case host != "" && (s.host != "" || s.port != ""):
		return nil, usagef("the address %s names a host; it can't be used together with --host or --port", s.address)
	case host != "":
		hosts = []string{host}
	}
	c := &connectionString{scheme: scheme, hosts: hosts, database: url.PathEscape(database)}
	if setName != "" {
		c.set("replicaSet", setName)
	}
	return c, nil
}

// splitAddress takes an address that is no connection string apart: a host
// with a dot or a port, or else a database.
func splitAddress(address string) (host, database string, err error) {
	if strings.Contains(address, "@") { // what is left of it may be a password
		return "", "", usagef("the address has a user in it, but does not begin with mongodb:// or mongodb+srv://; " +
			"begin it so, or give the user with --username")
	}
	if strings.ContainsAny(address, " \"$\\") || strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".") {
		return "", "", usagef("%q is neither an address nor a script that exists", address)
	}
	host, database, hasPath := strings.Cut(address, "/")
	if !hasPath && !strings.ContainsAny(address, ".:") {
		return "", address, nil
	}
	for one := range strings.SplitSeq(host, ",") {
		if name, port := splitPort(one); name == "" || port != "" && !validPort(port) {
			return "", "", usagef("%q is neither an address nor a script that exists: %q is no port (1 to 65535)", address, port)
		}
	}
	return host, database, nil
}

const hostCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:[]_-,/"

func (s server) checkHost() error {
	if isURI(s.host) {
		return usagef("--host takes a host; give a connection string as the address")
	}
	if i := strings.IndexFunc(s.host, func(r rune) bool { return !strings.ContainsRune(hostCharacters, r) }); i >= 0 {
		return usagef("--host has an invalid character: %q", []rune(s.host[i:])[0])
	}
	if s.port != "" && !validPort(s.port) {
		return usagef("--port takes a number from 1 to 65535, not %q", s.port)
	}
	return nil
}

// hosts returns those of --host, with the port of --port.
func (s server) hosts(list string) ([]string, error) {
	port := s.port
	if port == "" {
		port = defaultPort
	}
	var hosts []string
	for host := range strings.SplitSeq(list, ",") {
		if host == "" {
			continue
		}
		name, own := splitPort(host)
		switch {
		case own != "" && !validPort(own):
			return nil, usagef("--host: %q is no port (1 to 65535)", own)
		case own != "" && s.port != "" && own != s.port:
			return nil, usagef("--host names port %s and --port is %s; leave one out", own, s.port)
		case own == "":
			own = port
		}
		hosts = append(hosts, name+":"+own)
	}
	if len(hosts) == 0 {
		hosts = []string{defaultHost + ":" + port}
	}
	return hosts, nil
}

// splitPort splits host:port. An IPv6 address is in brackets afterwards; one
// without them has no port.
func splitPort(host string) (name, port string) {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]", ""
	}
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') || colon < 0 {
		return host, ""
	}
	return host[:colon], host[colon+1:]
}

func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// withDefaults adds what mongosh adds: a direct connection to a single host,
// and a short wait for a server on this machine.
func withDefaults(c *connectionString) *connectionString {
	given := func(name string) bool { _, ok := c.get(name); return ok }
	if c.scheme == scheme {
		if len(c.hosts) == 1 && !given("replicaSet") && !given("directConnection") && !given("loadBalanced") {
			c.set("directConnection", "true")
		}
		if c.allLocal() {
			c.setUnlessGiven("serverSelectionTimeoutMS", localSelectionTimeout)
		}
	}
	return c
}
