package server

// Codes of server errors that helpers act on (spec 03 §5).
const (
	FailedToParse               = 9
	NamespaceNotFound           = 26
	CommandNotFound             = 59
	MaxTimeMSExpired            = 50
	StaleConfig                 = 13388
	RecvStaleConfig             = 9996
	codeNotPrimaryNoSecondaryOk = 13435
	UnknownStage                = 40324
)
