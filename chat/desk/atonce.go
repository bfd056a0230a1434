package desk

import (
	"net/url"
	"strings"

	"faultline/chat"
	"faultline/config"
	"faultline/messages"
)

// What is said before anything is stored or looked up: fast, and true whatever follows.

// Hello is the first word that a person sees after a command: it was understood, and an answer follows.
func Hello(in chat.Inbound) string {
	if in.Kind != chat.Command || in.Warned {
		return ""
	}
	switch o := parse(in.Text); {
	case o.verb != "diagnose" || o.bad != "":
		return ""
	case o.job != "":
		return plain(say(helloJob, o.job))
	case len(o.places) > 0:
		return plain(say(helloLogs))
	}
	return ""
}

// Check looks at a modal that was sent: what is wrong is said beside the field while the modal is still open.
func Check(in chat.Inbound, secrets map[string]config.Secret) map[string]string {
	if in.View == nil {
		return nil
	}
	f := in.View.Fields
	switch in.View.Callback {
	case messages.ViewStart:
		typed := strings.TrimSpace(f[messages.FieldJob])
		if typed == "" && f[messages.FieldRecent] != "" {
			return nil
		}
		if o := parse(typed); o.bad != "" || o.verb != "diagnose" || o.job == "" && len(o.places) == 0 {
			return map[string]string{messages.FieldJob: plain(say(fieldJob))}
		}
	case messages.ViewSetup:
		return checkSetup(f)
	case messages.ViewAIS:
		return checkAccess(f, secrets[messages.FieldToken])
	case messages.ViewUpload:
		if len(in.View.Files) == 0 {
			return map[string]string{messages.FieldFiles: plain(say(uploadNothing))}
		}
	}
	return nil
}

func checkAccess(f map[string]string, token config.Secret) map[string]string {
	if f[messages.FieldProfile] != "" {
		return nil
	}
	wrong := map[string]string{}
	u, err := url.Parse(strings.TrimSpace(f[messages.FieldEndpoint]))
	switch {
	case strings.TrimSpace(f[messages.FieldEndpoint]) == "":
		wrong[messages.FieldEndpoint] = plain(say(fieldEndpointEmpty))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		wrong[messages.FieldEndpoint] = plain(say(fieldEndpoint))
	case u.User != nil:
		wrong[messages.FieldEndpoint] = plain(say(fieldEndpointUser))
	}
	if strings.ContainsAny(strings.TrimSpace(token.Reveal()), " \t\n") {
		wrong[messages.FieldToken] = plain(say(fieldToken))
	}
	if f[messages.FieldTLS] == messages.TLSAuthority && !strings.Contains(f[messages.FieldCA], "BEGIN CERTIFICATE") {
		wrong[messages.FieldCA] = plain(say(fieldCA))
	}
	return wrong
}
