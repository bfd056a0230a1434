package serve

import (
	"os"
	"path/filepath"
	"testing"

	"faultline/simulate/slack"
)

// Accounts of the cluster; the bot may read the files of both.
const victim, mallory = 20001, 20002

// Whatever a user puts into a directory of logs, only files of theirs are told of, and people hear which were left out.
func TestNobodyIsToldOfTheFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	t.Parallel()
	w := start(t)
	own := func(uid int, err error, names ...string) {
		t.Helper()
		for _, name := range names {
			if err == nil {
				err = os.Lchown(name, uid, uid)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(w.roots, name) }
	mine := func(job string) { // two ranks that raise, in a folder of mallory's
		w.crash(job, "our own mistake", "our own mistake")
		own(mallory, nil, at(job), at(job+"/rank_0.log"), at(job+"/rank_1.log"))
	}
	const tell = "plover-in-the-marsh"
	home := filepath.Join(w.dir, "home")
	log := filepath.Join(home, "v.log")
	own(victim, os.Mkdir(home, 0o755), home)
	own(victim, os.WriteFile(log, []byte(raised(0, 1, tell)), 0o644), log)
	own(victim, os.MkdirAll(at("victim/run"), 0o755), at("victim"), at("victim/run"))
	own(victim, os.WriteFile(at("victim/run/rank_0.log"), []byte(raised(0, 1, tell)), 0o644), at("victim/run/rank_0.log"))

	own(mallory, os.Symlink(log, at("slurm-5550001.out")), at("slurm-5550001.out"))
	own(mallory, os.Symlink(at("victim/run"), at("5550002")), at("5550002"))
	own(mallory, os.Symlink("/etc", at("5550003")), at("5550003"))
	mine("5550004")
	own(victim, os.Link(log, at("5550004/rank_2.log")))
	own(mallory, os.Symlink(log, at("5550004/rank_3.log")), at("5550004/rank_3.log"))
	mine("run-on-scratch")
	own(mallory, os.Symlink("run-on-scratch", at("5550005")), at("5550005"))

	for _, c := range []struct{ job, says string }{
		{"5550001", "it leads outside the directories I may read"},
		{"5550002", "it is one account's link to another account's file"},
		{"5550003", "it leads outside the directories I may read"},
	} {
		w.slash(slack.Alice, slack.Training, c.job)
		w.message(slack.BotUser, slack.Training, c.job, c.says)
	}
	for n, job := range []string{"5550004", "5550005"} {
		w.slash(slack.Alice, slack.Training, job)
		w.await("the report of job "+job, func() bool {
			reports := 0
			for _, f := range w.slack.Files() {
				if f.Name == "report.json" {
					reports++
				}
			}
			return reports > n
		})
	}
	places := w.searched()
	for _, id := range []string{"F-1", "F-2", "F-3", "F-4", "F-5"} {
		places = append(places, w.exported(id)...)
	}
	w.nowhere("after all questions", []canary{{"the file of somebody else", []string{tell}}, {"the machine's accounts", []string{"root:x:0:0"}}}, places)
	told := false
	for _, p := range places {
		told = told || holds(slack.Message{Text: string(p.data)}, []string{"rank_2.log", "hard link in another account's directory"})
	}
	if !told {
		t.Error("nobody is told that a hard link was left out")
	}
}
