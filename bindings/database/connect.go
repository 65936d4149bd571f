package database

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

// Constructor makes the global Mongo, which opens a connection.
func (h *Host) Constructor() goja.Value {
	return script.Class(h.JS, "Mongo", h.Classes.Mongo(), func(c *script.Call) *goja.Object {
		if len(c.Args) > 0 && !c.Has(0) {
			// Something that was thought to have an address has none.
			c.JS.ThrowInvalid("Argument uri is undefined (Mongo); Mongo() without arguments goes to localhost:27017")
		}
		c.Check("Mongo", script.ParseSignature("uri?:string|object encryption?:object options?:object"))
		if o := c.Object(1); o != nil && len(o.Keys()) > 0 {
			c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented,
				"client-side field level encryption is not available in shardsh")
		}
		settings := h.settingsOf(c.Arg(0))
		h.serverAPI(settings, c.Object(2))
		return h.connect(settings).Object()
	})
}

// settingsOf returns the settings of a connection: of an address, or those of a
// connection or database that is there.
func (h *Host) settingsOf(v goja.Value) *options.ClientOptions {
	var from *Mongo
	if m, ok := script.Receiver[*Mongo](v); ok {
		from = m
	} else if d, ok := script.Receiver[*Database](v); ok {
		from = d.on
	} else if m := h.Current.Mongo; m != nil && goja.IsString(v) && (v.String() == m.hosts() || v.String() == m.Address) {
		from = m // new Mongo(db.getMongo().host): with the user, TLS and all
	}
	switch {
	case from != nil && from.Settings != nil:
		settings := *from.Settings
		return &settings
	case goja.IsString(v) && slices.Contains(h.Opening.Routers, bareHost(v.String())):
		settings := *h.Opening.Settings
		return settings.ApplyURI("mongodb://" + bareHost(v.String()) + "/")
	case goja.IsUndefined(v):
		return h.addressed("mongodb://localhost:27017")
	case !goja.IsString(v):
		h.JS.ThrowInvalid("Mongo takes a connection string, a connection or a database")
	}
	return h.addressed(v.String())
}

// bareHost returns the host of a connection string that has nothing else.
func bareHost(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}

// addressed returns the settings of a connection string, which may lack its
// scheme.
func (h *Host) addressed(uri string) *options.ClientOptions {
	switch scheme, _, found := strings.Cut(uri, "://"); {
	case !found:
		uri = "mongodb://" + uri
	case scheme != "mongodb" && scheme != "mongodb+srv":
		h.JS.ThrowInvalid("Invalid URI: %s", server.Redact(uri))
	}
	h.mayConnect(uri)
	if h.Opening.ClientOptions != nil {
		settings, err := h.Opening.ClientOptions(h.JS.Context(), uri)
		if err != nil {
			h.JS.Throw("MongoParseError", "%s", server.OneLine(err.Error()))
		}
		return settings
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		h.JS.Throw("MongoParseError", "%s", server.OneLine(err.Error()))
	}
	mode := connstring.ServerMonitoringModePoll
	if parsed.ServerMonitoringMode != "" {
		mode = parsed.ServerMonitoringMode // ApplyURI does not copy it
	}
	return options.Client().ApplyURI(uri).SetServerMonitoringMode(mode)
}

// mayConnect refuses what a sandbox does not allow: hosts besides the shell's own,
// and files that the connection string names.
func (h *Host) mayConnect(uri string) {
	own, _ := hostsAndParameters(h.Opening.Address)
	hosts, parameters := hostsAndParameters(uri)
	for _, host := range hosts {
		if slices.Contains(own, host) {
			continue
		}
		h.JS.Check(h.Opening.Sandbox.MayConnect(host))
	}
	for name, paths := range parameters {
		for _, path := range paths {
			if !strings.HasSuffix(strings.ToLower(name), "file") {
				continue
			}
			h.JS.Check(h.Opening.Sandbox.MayRead(path))
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
func (h *Host) serverAPI(settings *options.ClientOptions, o *goja.Object) {
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
		h.JS.Throw("MongoInvalidArgumentError", "Invalid server API version=%s; must be in the following enum: [\"1\"]",
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

// ConnectDatabase is connect(uri[, user[, password]]): a database of a new
// connection.
func (h *Host) ConnectDatabase(c *script.Call) goja.Value {
	settings := h.settingsOf(c.Arg(0))
	parsed, _ := connstring.Parse(settings.GetURI())
	name := "test"
	if parsed != nil && parsed.Database != "" {
		name = parsed.Database
	}
	if c.Has(1) {
		as := options.Credential{Username: c.Text(1), Password: h.passwordArgument(c, 2), PasswordSet: true}
		if settings.Auth != nil {
			as.AuthSource, as.AuthMechanism = settings.Auth.AuthSource, settings.Auth.AuthMechanism
		} else if name != "test" {
			as.AuthSource = name
		}
		settings.SetAuth(as)
	}
	return h.connect(settings).CheckedDatabase(name).object
}

// connect opens another connection.
func (h *Host) connect(settings *options.ClientOptions) *Mongo {
	client := h.openClient(settings)
	m := NewMongo(h, client, settings.GetURI())
	m.own, m.Settings = true, settings
	h.Gateway.Opened.Add(client, m.Conn)
	return m
}

// openClient connects, and makes sure that somebody answers.
func (h *Host) openClient(settings *options.ClientOptions) *mongo.Client {
	open := h.Opening.Connect
	if open == nil {
		open = func(_ context.Context, o *options.ClientOptions) (*mongo.Client, error) { return live.Connect(o) }
	}
	client, err := open(h.JS.Context(), settings)
	if err == nil {
		if err = client.Ping(h.JS.Context(), nil); err != nil {
			_ = live.Disconnect(context.WithoutCancel(h.JS.Context()), client)
		}
	}
	if err != nil {
		if h.JS.Context().Err() != nil {
			h.JS.Abort(context.Cause(h.JS.Context()))
		}
		h.throwUnreachable(err)
	}
	return client
}

// throwUnreachable throws the error of a server that was never reached.
func (h *Host) throwUnreachable(err error) {
	e := h.Gateway.ErrorOf(err)
	if name, _ := server.ConnectionError(err); name == "MongoNetworkError" {
		script.Must(e.SetPrototype(h.JS.Values.Errors.New(name, "").Prototype()))
	}
	panic(e)
}

// dbAuth is db.auth(user[, password]) and db.auth({user, pwd, mechanism}).
func dbAuth(c *script.Call, d *Database) goja.Value {
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
		as.Username, as.Password = script.OptionalText(c.Arg(0)), d.host.passwordArgument(c, 1)
	}
	if (as.Username == "" || as.Password == "") && as.AuthMechanism == "" {
		c.JS.ThrowInvalid("auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields")
	}
	as.PasswordSet = as.Password != ""
	as.AuthSource = d.Name
	d.host.Current.Cursor = nil
	d.on.login(c, as)
	return c.JS.NewObject("ok", 1)
}

// login connects again as a user. The old connection is kept when that fails.
func (m *Mongo) login(c *script.Call, as options.Credential) {
	if m.Settings == nil {
		c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented,
			"this connection cannot log in again; give the user in the connection string")
	}
	settings := *m.Settings
	settings.SetAuth(as)
	client := m.host.openClient(&settings)
	m.EndHome(context.WithoutCancel(c.JS.Context()))
	if m.own {
		_ = m.host.Gateway.Opened.Disconnect(context.WithoutCancel(c.JS.Context()), m.Client)
	}
	m.own = true // the first client stays its owner's, this one is ours
	m.host.Gateway.Opened.Add(client, m.Conn)
	m.Client, m.Settings = client, &settings
}

// passwordArgument returns a password given as an argument, or typed by the
// user.
func (h *Host) passwordArgument(c *script.Call, i int) string {
	if c.Has(i) {
		return c.Text(i)
	}
	v := h.askPassword()
	if v == nil {
		c.JS.ThrowInvalid("The password is missing: pass it, or passwordPrompt(), as an argument")
	}
	return v.String()
}

// askPassword asks the user through passwordPrompt(); nil when nobody can be
// asked.
func (h *Host) askPassword() goja.Value {
	if !h.Opening.Interactive {
		return nil
	}
	ask, ok := goja.AssertFunction(h.JS.Runtime.GlobalObject().Get("passwordPrompt"))
	if !ok {
		return nil
	}
	v, err := ask(goja.Undefined())
	if err == nil {
		v, err = h.JS.Settle(v)
	}
	h.JS.Check(err)
	return v
}

// EndSessions ends the sessions that commands belong to by default.
func (h *Host) EndSessions(ctx context.Context) {
	for m := range h.Gateway.Opened.All() {
		m.EndHome(ctx)
	}
	if h.Current.Mongo != nil && !h.Current.Mongo.own {
		h.Current.Mongo.EndHome(ctx)
	}
}
