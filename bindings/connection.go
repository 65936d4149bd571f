package bindings

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/balancer/live"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Connections that scripts open, and logging in: Mongo(), connect(), db.auth().

// newMongoConstructor makes the global Mongo, which opens a connection.
func (s *Shell) newMongoConstructor() goja.Value {
	proto := s.mongoPrototype()
	f := s.JS.Runtime.ToValue(func(cc goja.ConstructorCall) *goja.Object {
		defer s.JS.ContainFaults()
		c := &call{&script.Call{JS: s.JS, Args: cc.Arguments}, s}
		if len(c.Args) > 0 && !c.Has(0) {
			// Something that was thought to have an address has none.
			c.JS.ThrowInvalid("Argument uri is undefined (Mongo); Mongo() without arguments goes to localhost:27017")
		}
		c.Check("Mongo", script.ParseSignature("uri?:string|object encryption?:object options?:object"))
		if o := c.Object(1); o != nil && len(o.Keys()) > 0 {
			c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented,
				"client-side field level encryption is not available in shardsh")
		}
		settings := c.settingsOf(c.Arg(0))
		c.serverAPI(settings, c.Object(2))
		return s.connect(settings).js()
	}).(*goja.Object)
	script.Must(f.DefineDataProperty("name", s.JS.Runtime.ToValue("Mongo"), goja.FLAG_FALSE, goja.FLAG_TRUE,
		goja.FLAG_FALSE))
	script.Must(f.Set("prototype", proto))
	return f
}

// settingsOf returns the settings of a connection: of an address, or those of a
// connection or database that is there.
func (c *call) settingsOf(v goja.Value) *options.ClientOptions {
	var from *mongoObject
	if m, ok := script.Receiver[*mongoObject](v); ok {
		from = m
	} else if d, ok := script.Receiver[*database](v); ok {
		from = d.on
	} else if m := c.s.mongo; m != nil && goja.IsString(v) && (v.String() == m.hosts() || v.String() == m.Address) {
		from = m // new Mongo(db.getMongo().host): with the user, TLS and all
	}
	switch {
	case from != nil && from.Settings != nil:
		settings := *from.Settings
		return &settings
	case goja.IsString(v) && slices.Contains(c.s.cfg.Routers, bareHost(v.String())):
		settings := *c.s.cfg.Settings
		return settings.ApplyURI("mongodb://" + bareHost(v.String()) + "/")
	case goja.IsUndefined(v):
		return c.addressed("mongodb://localhost:27017")
	case !goja.IsString(v):
		c.JS.ThrowInvalid("Mongo takes a connection string, a connection or a database")
	}
	return c.addressed(v.String())
}

// bareHost returns the host of a connection string that has nothing else.
func bareHost(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}

// addressed returns the settings of a connection string, which may lack its
// scheme.
func (c *call) addressed(uri string) *options.ClientOptions {
	switch scheme, _, found := strings.Cut(uri, "://"); {
	case !found:
		uri = "mongodb://" + uri
	case scheme != "mongodb" && scheme != "mongodb+srv":
		c.JS.ThrowInvalid("Invalid URI: %s", server.Redact(uri))
	}
	c.mayConnect(uri)
	if c.s.cfg.ClientOptions != nil {
		settings, err := c.s.cfg.ClientOptions(c.JS.Context(), uri)
		if err != nil {
			c.JS.Throw("MongoParseError", "%s", server.OneLine(err.Error()))
		}
		return settings
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		c.JS.Throw("MongoParseError", "%s", server.OneLine(err.Error()))
	}
	mode := connstring.ServerMonitoringModePoll
	if parsed.ServerMonitoringMode != "" {
		mode = parsed.ServerMonitoringMode // ApplyURI does not copy it
	}
	return options.Client().ApplyURI(uri).SetServerMonitoringMode(mode)
}

// mayConnect refuses what a sandbox does not allow: hosts besides the shell's own,
// and files that the connection string names.
func (c *call) mayConnect(uri string) {
	own, _ := hostsAndParameters(c.s.cfg.Address)
	hosts, parameters := hostsAndParameters(uri)
	for _, host := range hosts {
		if slices.Contains(own, host) {
			continue
		}
		if err := c.s.cfg.Sandbox.MayConnect(host); err != nil {
			c.JS.Rethrow(err)
		}
	}
	for name, paths := range parameters {
		for _, path := range paths {
			if !strings.HasSuffix(strings.ToLower(name), "file") {
				continue
			}
			if err := c.s.cfg.Sandbox.MayRead(path); err != nil {
				c.JS.Rethrow(err)
			}
		}
	}
}

// hostsAndParameters takes a connection string apart without asking anybody.
func hostsAndParameters(uri string) (hosts []string, parameters url.Values) {
	_, rest, _ := strings.Cut(uri, "://")
	rest, query, _ := strings.Cut(rest, "?")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	list, _, _ := strings.Cut(rest, "/")
	parameters, _ = url.ParseQuery(query)
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }), parameters
}

// serverAPI takes over {api: {version, strict, deprecationErrors}}.
func (c *call) serverAPI(settings *options.ClientOptions, o *goja.Object) {
	v := script.Property(o, "api")
	if v == nil {
		return
	}
	version := options.ServerAPIVersion(v.String())
	spec, _ := v.(*goja.Object)
	if spec != nil {
		version = options.ServerAPIVersion(script.OptionalText(spec.Get("version")))
	}
	if version != options.ServerAPIVersion1 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid server API version=%s; must be in the following enum: [\"1\"]",
			version)
	}
	api := options.ServerAPI(version)
	if strict := script.Property(spec, "strict"); strict != nil {
		api.SetStrict(strict.ToBoolean())
	}
	if errs := script.Property(spec, "deprecationErrors"); errs != nil {
		api.SetDeprecationErrors(errs.ToBoolean())
	}
	settings.SetServerAPIOptions(api)
}

// connectDatabase is connect(uri[, user[, password]]): a database of a new
// connection.
func (c *call) connectDatabase() goja.Value {
	settings := c.settingsOf(c.Arg(0))
	parsed, _ := connstring.Parse(settings.GetURI())
	name := "test"
	if parsed != nil && parsed.Database != "" {
		name = parsed.Database
	}
	if c.Has(1) {
		as := options.Credential{Username: c.Text(1), Password: c.passwordArgument(2), PasswordSet: true}
		if settings.Auth != nil {
			as.AuthSource, as.AuthMechanism = settings.Auth.AuthSource, settings.Auth.AuthMechanism
		} else if name != "test" {
			as.AuthSource = name
		}
		settings.SetAuth(as)
	}
	return c.s.connect(settings).checkedDatabase(name).object
}

// connect opens another connection.
func (s *Shell) connect(settings *options.ClientOptions) *mongoObject {
	client := s.openClient(settings)
	m := newMongoObject(s, client, settings.GetURI())
	m.own, m.Settings = true, settings
	s.gateway.Opened.Add(client, m.Conn)
	return m
}

// openClient connects, and makes sure that somebody answers.
func (s *Shell) openClient(settings *options.ClientOptions) *mongo.Client {
	open := s.cfg.Connect
	if open == nil {
		open = func(_ context.Context, o *options.ClientOptions) (*mongo.Client, error) { return live.Connect(o) }
	}
	client, err := open(s.JS.Context(), settings)
	if err == nil {
		if err = client.Ping(s.JS.Context(), nil); err != nil {
			_ = live.Disconnect(context.WithoutCancel(s.JS.Context()), client)
		}
	}
	if err != nil {
		if s.JS.Context().Err() != nil {
			s.JS.Abort(context.Cause(s.JS.Context()))
		}
		s.throwUnreachable(err)
	}
	return client
}

// throwUnreachable is throwServer for a server that was never reached.
func (s *Shell) throwUnreachable(err error) {
	e := s.gateway.ErrorOf(err)
	if name, _ := server.ConnectionError(err); name == "MongoNetworkError" {
		script.Must(e.SetPrototype(s.JS.World.Errors.New(name, "").Prototype()))
	}
	panic(e)
}

// dbAuth is db.auth(user[, password]) and db.auth({user, pwd, mechanism}).
func dbAuth(c *call, d *database) goja.Value {
	var as options.Credential
	switch o := c.Object(0); {
	case len(c.Args) == 0 || len(c.Args) > 2:
		c.JS.ThrowInvalid("auth expects (username), (username, password), or ({ user: username, pwd: password })")
	case o != nil && len(c.Args) == 1:
		as.Username, as.Password = script.OptionalText(o.Get("user")), script.OptionalText(o.Get("pwd"))
		as.AuthMechanism = script.OptionalText(o.Get("mechanism"))
		if script.Property(o, "digestPassword") != nil {
			c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented,
				"digestPassword is not supported for authentication.")
		}
	default:
		as.Username, as.Password = script.OptionalText(c.Arg(0)), c.passwordArgument(1)
	}
	if (as.Username == "" || as.Password == "") && as.AuthMechanism == "" {
		c.JS.ThrowInvalid("auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields")
	}
	as.PasswordSet = as.Password != ""
	as.AuthSource = d.Name
	c.s.cursor = nil
	c.login(d.on, as)
	return c.JS.NewObject("ok", 1)
}

// login connects again as a user. The old connection is kept when that fails.
func (c *call) login(m *mongoObject, as options.Credential) {
	if m.Settings == nil {
		c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented,
			"this connection cannot log in again; give the user in the connection string")
	}
	settings := *m.Settings
	settings.SetAuth(as)
	client := c.s.openClient(&settings)
	m.EndHome(context.WithoutCancel(c.JS.Context()))
	if m.own {
		_ = c.s.gateway.Opened.Disconnect(context.WithoutCancel(c.JS.Context()), m.Client)
	}
	m.own = true // the first client stays its owner's, this one is ours
	c.s.gateway.Opened.Add(client, m.Conn)
	m.Client, m.Settings = client, &settings
}

// passwordArgument returns a password given as an argument, or typed by the
// user.
func (c *call) passwordArgument(i int) string {
	if c.Has(i) {
		return c.Text(i)
	}
	v := c.askPassword()
	if v == nil {
		c.JS.ThrowInvalid("The password is missing: pass it, or passwordPrompt(), as an argument")
	}
	return v.String()
}

// askPassword asks the user through passwordPrompt(); nil when nobody can be
// asked.
func (c *call) askPassword() goja.Value {
	if !c.s.cfg.Interactive {
		return nil
	}
	ask, ok := goja.AssertFunction(c.JS.Runtime.GlobalObject().Get("passwordPrompt"))
	if !ok {
		return nil
	}
	v, err := ask(goja.Undefined())
	if err == nil {
		v, err = c.JS.Settle(v)
	}
	if err != nil {
		c.JS.Rethrow(err)
	}
	return v
}

// endHomeSessions ends the sessions that commands belong to by default.
func (s *Shell) endHomeSessions(ctx context.Context) {
	for m := range s.gateway.Opened.All() {
		m.EndHome(ctx)
	}
	if s.mongo != nil && !s.mongo.own {
		s.mongo.EndHome(ctx)
	}
}
