package main

import (
	"slices"
	"strings"

	"faultline/chat/desk"
	"faultline/config"
	"faultline/messages"
)

// policyOf turns the configuration into the rules of the conversation.
func policyOf(cfg config.Config) *desk.Policy {
	p := &desk.Policy{
		Channels: map[string]desk.Rule{},
		Admins:   who(cfg.Access.Admins),
		Clusters: map[string]desk.Cluster{},
		Identity: cfg.Identities, AskForStorage: cfg.StorageAccess.Ask, TypedStorage: cfg.StorageAccess.Untyped() == "",
		Checklists: cfg.Checklists, Price: priceOf(cfg.Costs),
	}
	var all []string
	for _, c := range cfg.Clusters {
		all = append(all, c.Name)
		var profiles []string
		for _, s := range cfg.Storage {
			if len(s.Clusters) == 0 || slices.Contains(s.Clusters, c.Name) {
				profiles = append(profiles, s.Name)
			}
		}
		for _, w := range c.Watch {
			p.Watches = append(p.Watches, desk.Watch{
				Cluster: c.Name, Channel: w.Channel, Every: w.Every.Std(), Partitions: w.Partitions, Accounts: w.Accounts, Users: w.Users,
				MinNodes: w.MinNodes, MinDuration: w.MinDuration.Std(), Exclude: w.ExcludeNames, OwnerFirst: w.TellOwnerFirst,
				PerHour: w.PerHour, Digest: w.DigestAt(),
			})
		}
		here := desk.Cluster{Profiles: profiles}
		if c.Logs.IsMounted() { // people name files of this machine
			here.Roots = c.Logs.Roots
		}
		p.Clusters[c.Name] = here
	}
	for _, c := range cfg.Channels {
		r := desk.Rule{
			Clusters: c.Clusters, Users: c.Users, Own: c.Own, External: c.External, ReadOnly: c.ReadOnly, Trusted: who(c.Trusted),
		}
		if len(r.Clusters) == 0 {
			r.Clusters = all
		}
		if len(c.Trusted) == 0 {
			r.Trusted.Anyone = true
		}
		p.Channels[c.ID] = r
	}
	open := desk.Rule{Clusters: all, Trusted: desk.Who{Anyone: true}}
	if cfg.Access.AnyChannel {
		p.Any = &open
	}
	if cfg.Access.Direct {
		p.Direct = &open
	}
	return p
}

// who sorts ids into people and groups: a group's id begins with S.
func who(ids []string) desk.Who {
	var w desk.Who
	for _, id := range ids {
		if strings.HasPrefix(id, "S") {
			w.Groups = append(w.Groups, id)
		} else {
			w.Users = append(w.Users, id)
		}
	}
	return w
}

func priceOf(c config.Costs) messages.Price {
	return messages.Price{PerGPUHour: c.GPUHour, Currency: c.Currency}
}
