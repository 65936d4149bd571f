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

// Connections that scripts open, and authentication: Mongo(), connect(), db.auth().

// MongoConstructor returns the global Mongo, which opens a connection.
func (h *Host) MongoConstructor() goja.Value {
	return script.NewClass(h.JS, "Mongo", h.Prototypes.Mongo(), func(c *script.Call) *goja.Object {
		if len(c.Args) > 0 && !c.Has(0) {
			// An explicit undefined is probably a mistake in the script.
			c.JS.ThrowInvalid("Argument uri is undefined (Mongo); Mongo() without arguments goes to localhost:27017")
		}
		c.Check("Mongo", script.ParseSignature("uri?:string|object encryption?:object options?:object"))
		if o := c.Object(1); o != nil && len(o.Keys()) > 0 {
			c.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented,
				"client-side field level encryption is not available in shardsh")
		}
		settings := h.connectionOptions(c.Arg(0))
		h.setServerAPI(settings, c.Object(2))
		return h.connect(settings).Object()
	})
}

// connectionOptions returns the settings for a connection: those of an address, or those of an existing
// connection or database.
func (h *Host) connectionOptions(v goja.Value) *options.ClientOptions {
	var from *Mongo
	if m, ok := script.Receiver[*Mongo](v); ok {
		from = m
	} else if d, ok := script.Receiver[*Database](v); ok {
		from = d.conn
	} else if m := h.Current.Mongo; m != nil && goja.IsString(v) && (v.String() == m.hosts() || v.String() == m.Address) {
		from = m // new Mongo(db.getMongo().host): keep the user, TLS and other settings
	}
	switch {
	case from != nil && from.ClientOptions != nil:
		settings := *from.ClientOptions
		return &settings
	case goja.IsString(v) && slices.Contains(h.ConnectSettings.Routers, bareHost(v.String())):
		settings := *h.ConnectSettings.ClientOptions
		return settings.ApplyURI("mongodb://" + bareHost(v.String()) + "/")
	case goja.IsUndefined(v):
		return h.optionsFromURI("mongodb://localhost:27017")
	case !goja.IsString(v):
		h.JS.ThrowInvalid("Mongo takes a connection string, a connection or a database")
	}
	return h.optionsFromURI(v.String())
}

// bareHost returns the host of a connection string without other parts.
func bareHost(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}

// optionsFromURI returns the settings of a connection string. The scheme may be missing.
func (h *Host) optionsFromURI(uri string) *options.ClientOptions {
	switch scheme, _, found := strings.Cut(uri, "://"); {
	case !found:
		uri = "mongodb://" + uri
	case scheme != "mongodb" && scheme != "mongodb+srv":
		h.JS.ThrowInvalid("Invalid URI: %s", server.Redact(uri))
	}
	h.checkSandboxAllows(uri)
	if h.ConnectSettings.ParseURI != nil {
		settings, err := h.ConnectSettings.ParseURI(h.JS.Context(), uri)
		if err != nil {
			h.JS.Throw("MongoParseError", "%s", server.RedactedLine(err.Error()))
		}
		return settings
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		h.JS.Throw("MongoParseError", "%s", server.RedactedLine(err.Error()))
	}
	mode := connstring.ServerMonitoringModePoll
	if parsed.ServerMonitoringMode != "" {
		mode = parsed.ServerMonitoringMode // ApplyURI does not copy it
	}
	return options.Client().ApplyURI(uri).SetServerMonitoringMode(mode)
}

// checkSandboxAllows throws if the sandbox forbids a connection, because of a host other than the
// shell's own, or because of a file that the connection string names.
func (h *Host) checkSandboxAllows(uri string) {
	ownHosts, _ := hostsAndParameters(h.ConnectSettings.Address)
	hosts, parameters := hostsAndParameters(uri)
	for _, host := range hosts {
		if slices.Contains(ownHosts, host) {
			continue
		}
		h.JS.Check(h.ConnectSettings.Sandbox.CheckConnect(host))
	}
	for name, paths := range parameters {
		for _, path := range paths {
			if !strings.HasSuffix(strings.ToLower(name), "file") {
				continue
			}
			h.JS.Check(h.ConnectSettings.Sandbox.CheckRead(path))
		}
	}
}

// hostsAndParameters parses a connection string without DNS lookups. It divides the string where the driver
// does, or the sandbox would check other hosts and files than those that the driver uses: the user ends at the
// first "@", which may follow a "?", and a ";" separates parameters, too.
func hostsAndParameters(uri string) (hosts []string, parameters url.Values) {
	_, rest, _ := strings.Cut(uri, "://")
	rest = rest[strings.IndexByte(rest, '@')+1:]
	list := rest
	if end := strings.IndexAny(rest, "/?@"); end >= 0 {
		list = rest[:end]
	}
	_, query, _ := strings.Cut(rest, "?")
	// An error is that of the driver, which refuses the connection string.
	parameters, _ = url.ParseQuery(strings.ReplaceAll(query, ";", "&"))
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }), parameters
}

// setServerAPI applies {api: {version, strict, deprecationErrors}}.
func (h *Host) setServerAPI(settings *options.ClientOptions, o *goja.Object) {
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

// ConnectDatabase implements connect(uri[, user[, password]]): it returns a database of a new
// connection.
func (h *Host) ConnectDatabase(c *script.Call) goja.Value {
	settings := h.connectionOptions(c.Arg(0))
	parsed, _ := connstring.Parse(settings.GetURI())
	name := "test"
	if parsed != nil && parsed.Database != "" {
		name = parsed.Database
	}
	if c.Has(1) {
		as := options.Credential{Username: c.Text(1), Password: h.passwordArgOrPrompt(c, 2), PasswordSet: true}
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
	m.ownsClient, m.ClientOptions = true, settings
	h.Gateway.OpenConnections.Add(client, m.Conn)
	return m
}

// openClient connects to a server and pings it.
func (h *Host) openClient(settings *options.ClientOptions) *mongo.Client {
	open := h.ConnectSettings.Connect
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

// throwUnreachable throws the error for a server that was never reached.
func (h *Host) throwUnreachable(err error) {
	e := h.Gateway.ErrorOf(err)
	if name, _ := server.DescribeConnectionError(err); name == "MongoNetworkError" {
		script.Must(e.SetPrototype(h.JS.Values.Errors.New(name, "").Prototype()))
	}
	panic(e)
}

// dbAuth implements db.auth(user[, password]) and db.auth({user, pwd, mechanism}).
func dbAuth(c *script.Call, d *Database) goja.Value {
	var credential options.Credential
	switch o := c.Object(0); {
	case len(c.Args) == 0 || len(c.Args) > 2:
		c.JS.ThrowInvalid("auth expects (username), (username, password), or ({ user: username, pwd: password })")
	case o != nil && len(c.Args) == 1:
		credential.Username, credential.Password = script.OptionalText(o.Get("user")), script.OptionalText(o.Get("pwd"))
		credential.AuthMechanism = script.OptionalText(o.Get("mechanism"))
		if script.Property(o, "digestPassword") != nil {
			c.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented,
				"digestPassword is not supported for authentication.")
		}
	default:
		credential.Username, credential.Password = script.OptionalText(c.Arg(0)), d.host.passwordArgOrPrompt(c, 1)
	}
	if (credential.Username == "" || credential.Password == "") && credential.AuthMechanism == "" {
		c.JS.ThrowInvalid("auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields")
	}
	credential.PasswordSet = credential.Password != ""
	credential.AuthSource = d.Name
	d.host.Current.Cursor = nil
	d.conn.login(c, credential)
	return c.JS.NewObject("ok", 1)
}

// login connects again as a user. It keeps the old connection if that fails.
func (m *Mongo) login(c *script.Call, credential options.Credential) {
	if m.ClientOptions == nil {
		c.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented,
			"this connection cannot log in again; give the user in the connection string")
	}
	settings := *m.ClientOptions
	settings.SetAuth(credential)
	client := m.host.openClient(&settings)
	m.EndDefaultSession(context.WithoutCancel(c.JS.Context()))
	if m.ownsClient {
		_ = m.host.Gateway.OpenConnections.Disconnect(context.WithoutCancel(c.JS.Context()), m.Client)
	}
	m.ownsClient = true // the first client belongs to its owner, this one to us
	m.host.Gateway.OpenConnections.Add(client, m.Conn)
	m.Client, m.ClientOptions = client, &settings
}

// passwordArgOrPrompt returns the password in an argument, or asks the user for it.
func (h *Host) passwordArgOrPrompt(c *script.Call, i int) string {
	if c.Has(i) {
		return c.Text(i)
	}
	v := h.askPassword()
	if v == nil {
		c.JS.ThrowInvalid("The password is missing: pass it, or passwordPrompt(), as an argument")
	}
	return v.String()
}

// askPassword asks the user by passwordPrompt(); it returns nil in a non-interactive shell.
func (h *Host) askPassword() goja.Value {
	if !h.ConnectSettings.Interactive {
		return nil
	}
	ask, ok := goja.AssertFunction(h.JS.Runtime.GlobalObject().Get("passwordPrompt"))
	if !ok {
		return nil
	}
	v, err := ask(goja.Undefined())
	if err == nil {
		v, err = h.JS.AwaitResult(v)
	}
	h.JS.Check(err)
	return v
}

// EndSessions ends the default sessions of commands.
func (h *Host) EndSessions(ctx context.Context) {
	for m := range h.Gateway.OpenConnections.All() {
		m.EndDefaultSession(ctx)
	}
	if h.Current.Mongo != nil && !h.Current.Mongo.ownsClient {
		h.Current.Mongo.EndDefaultSession(ctx)
	}
}
