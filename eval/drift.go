package eval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"

	"faultline/incident"
)

// A drift rewrites one line as another release, another locale or another program would print it. It returns the line as it is where it has
// nothing to rewrite.
type drifted struct {
	name    string
	rewrite func(line string) string
}

// drifts are the ways in which wording drifts. Ranks, nodes and sequence numbers stay as they are: what happened stays the same.
var drifts = []drifted{
	{"synonyms", func(l string) string { return synonyms.Replace(l) }},
	{"prefix", func(l string) string { return "trainer.runtime | " + l }},
	{"French", func(l string) string { return french.Replace(l) }},
	{"German", func(l string) string { return german.Replace(l) }},
	{"capitals", func(l string) string { return spokenWords.ReplaceAllStringFunc(l, strings.ToUpper) }},
	{"split", split},
	{"numbers", func(l string) string { return quantities.ReplaceAllString(l, "${1}7${2}") }},
}

var synonyms = strings.NewReplacer(
	"failed", "was unsuccessful", "Failed", "Unsuccessful", "failure", "breakdown", "error", "fault", "Error:", "Fault:", "timed out", "ran out of time", "timeout", "deadline",
	"out of memory", "memory exhausted", "Out of memory", "Memory exhausted", "killed", "terminated forcibly", "Killed", "Terminated forcibly", "cannot", "unable to", "Cannot", "Unable to",
	"unable to", "not able to", "not found", "absent", "closed", "shut down", "connection", "link", "Connection", "Link", "aborted", "stopped", "unexpectedly", "without warning",
	"refused", "rejected", "mismatch", "disagreement", "invalid", "not valid", "CANCELLED", "REVOKED", "lost", "gone", "detected", "observed", "exceeded", "overrun", "exited", "left",
)

// The translations are those of glibc's catalogues.
var (
	french = strings.NewReplacer( //nolint:misspell // French
		"No such file or directory", "Aucun fichier ou dossier de ce type", "Connection reset by peer", "Connexion ré-initialisée par le correspondant",
		"Connection refused", "Connexion refusée", "Connection timed out", "Connexion terminée par expiration du délai d'attente", "No space left on device", "Aucun espace disponible sur le périphérique",
		"Cannot allocate memory", "Ne peut allouer de la mémoire", "Permission denied", "Permission non accordée", "Input/output error", "Erreur d'entrée/sortie", "Broken pipe", "Relais brisé (pipe)",
		"Segmentation fault", "Erreur de segmentation", "Bus error", "Erreur du bus", "Killed", "Processus arrêté", "Aborted", "Abandon", "Disk quota exceeded", "Débordement du quota d'espace disque",
		"Too many open files", "Trop de fichiers ouverts", "Stale file handle", "Panne d'accès au fichier NFS", "Read-only file system", "Système de fichiers accessible en lecture seulement",
		"No route to host", "Aucun chemin d'accès pour atteindre l'hôte cible", "Transport endpoint is not connected", "Noeud final de transport n'est pas connecté", "Terminated", "Complété")
	german = strings.NewReplacer("No such file or directory", "Datei oder Verzeichnis nicht gefunden", "Connection reset by peer", "Die Verbindung wurde vom Kommunikationspartner zurückgesetzt",
		"Connection refused", "Verbindungsaufbau abgelehnt", "Connection timed out", "Die Wartezeit für die Verbindung ist abgelaufen", "No space left on device", "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
		"Cannot allocate memory", "Nicht genügend Hauptspeicher verfügbar", "Permission denied", "Keine Berechtigung", "Input/output error", "Eingabe-/Ausgabefehler", "Broken pipe", "Datenübergabe unterbrochen (broken pipe)",
		"Segmentation fault", "Speicherzugriffsfehler", "Bus error", "Bus-Zugriffsfehler", "Killed", "Getötet", "Aborted", "Abgebrochen", "Disk quota exceeded", "Der zugewiesene Plattenplatz (Quota) ist überschritten",
		"Too many open files", "Zu viele offene Dateien", "Stale file handle", "Veraltete Dateizugriffsnummer (file handle)", "Read-only file system", "Das Dateisystem ist nur lesbar",
		"No route to host", "Keine Route zum Zielrechner", "Transport endpoint is not connected", "Der Socket ist nicht verbunden", "Terminated", "Beendet")
	// spokenWords are words that are no names: lower case, and not part of a path, a function or a host.
	spokenWords = regexp.MustCompile(`\b(?:error|failed|failure|timeout|timed out|out of memory|killed|caught|collective|operation|connection|reset|refused|closed|lost|unexpectedly|invalid|not found|unable to|detected|terminated|aborted|memory access|fault)\b`)
	quantities  = regexp.MustCompile(`\b(\d+)(\.\d+ [MGK]iB| [MGK]iB| bytes)\b`)
)

// split breaks a line in two at a space near its middle, as a narrow collector does.
func split(l string) string {
	i := strings.IndexByte(l[len(l)/2:], ' ')
	if i < 0 || len(l) < 40 {
		return l
	}
	at := len(l)/2 + i
	return l[:at] + "\n" + l[at+1:]
}

// drift rewrites the key lines of a case, and those that are like them but for their numbers, each the same way.
func drift(sources []incident.Source, key []incident.Evidence, dir string, seed uint64) (out []incident.Source, changed bool, err error) {
	texts := linesOf(sources)
	shapes := map[string]bool{}
	for _, k := range key {
		if all := texts(k.File); int(k.Line) <= len(all) {
			shapes[letters(plain(all[k.Line-1]))] = true
		}
	}
	delete(shapes, "")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("rewriting lines: %w", bare(err))
	}
	order := rand.New(rand.NewPCG(seed, 1)).Perm(len(drifts))
	for _, n := range order { // the first that has something to rewrite
		out = slices.Clone(sources)
		for i, s := range sources {
			b, err := os.ReadFile(s.Path)
			if err != nil {
				return nil, false, fmt.Errorf("rewriting %s: %w", s.Name, bare(err))
			}
			if !text(b) {
				continue
			}
			lines, here := strings.Split(string(b), "\n"), false
			for j, l := range lines {
				if l == "" || !shapes[letters(plain(l))] {
					continue
				}
				if now := drifts[n].rewrite(l); now != l {
					lines[j], here = now, true
				}
			}
			if !here {
				continue
			}
			changed = true
			if err := rewrite(&out[i], dir, i, []byte(strings.Join(lines, "\n"))); err != nil {
				return nil, false, err
			}
		}
		if changed {
			return out, true, nil
		}
	}
	return sources, false, nil
}
