package intake

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// key is a header without what differs between spellings of the same one: case,
// spaces, punctuation. "Company / Account", "company_account" and
// "CompanyAccount" are one.
func key(header string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(header) {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// leadHeaders lists, by key, the headers that give each target, the one to
// prefer first. They are those of exports by Salesforce (labels and API names),
// HubSpot (labels and API names), Pipedrive, Apollo, LinkedIn, Mailchimp, Meta
// lead ads, Google Contacts and Outlook, and the plain words in a few languages.
// A header is matched as a whole: "Lead Owner Email" is nobody's email here.
var leadHeaders = map[target]string{
	tEmail: `email emailaddress personemailwork workemail businessemail primaryemail contactemail leademail personemail
		mail emailadresse emailid email1value email1 personemailhome personemailother adresseemail courriel correoelectronico correo`,
	tSourceID: `sourceid leadid contactid recordid recordidcontact externalid personid apollocontactid leid id
		hsobjectid vid prospectid crmid`,
	tName: `name fullname contactname personname leadname displayname personfullname nombrecompleto nomcomplet`,
	tGivenName: `givenname firstname persongivenname personfirstname forename first fname
		vorname prénom prenom nombre`,
	tFamilyName: `familyname lastname personfamilyname personlastname surname last lname nachname nomdefamille apellidos apellido`,
	tTitle: `title jobtitle position persontitle personjobtitle jobposition jobfunction headline
		organizationtitle organization1title berufsbezeichnung titredeposte cargo puesto`,
	tCompany: `company companyname companyaccount account accountname organization organisation organizationname
		organisationname personorganization organization1name companynameforemails employer comp business businessname
		firma firmenname unternehmen société societe entreprise empresa`,
	tDomain:     `domain companydomain companydomainname emaildomain accountdomain organizationdomain`,
	tWebsite:    `website websiteurl companywebsite web homepage companyurl organizationwebsite webseite siteweb`,
	tURL:        `url profileurl`,
	tLinkedIn:   `linkedin linkedinurl personlinkedin personlinkedinurl linkedinprofile linkedinprofileurl hslinkedinurl linkedinbio`,
	tPhone:      `phone phonenumber personphone personphonework mobilephone mobile mobilephonenumber workdirectphone workphone businessphone personphonemobile personphonehome personphoneother phone1value homephone otherphone tel telephone telefon téléphone telefono teléfono`,
	tLocation:   `location personlocation contactlocation`,
	tCity:       `city personcity ort ville ciudad`,
	tState:      `state stateregion stateprovince region province`,
	tCountry:    `country countryregion personcountry land pays país`,
	tDeleted:    `isdeleted deleted`,
	tOptOut:     `hasoptedoutofemail emailoptout optout optedout emailoptedout unsubscribedfromallemail hsemailoptout unsubscribed unsubscribedfromemail donotcontact donotemail hasoptedoutprocessing shouldforget`,
	tOptOutTime: `unsubtime cleantime unsubscribedat unsubscribetime optouttime optedoutat`,
	tStatus:     `marketingstatus personmarketingstatus subscriptionstatus subscriberstatus emailmarketingstatus leadstatus status`,
}

// peopleHeaders are those that a directory knows beside them.
var peopleHeaders = map[target]string{
	tRole:            `role personrole`,
	tSeniority:       `seniority personseniority`,
	tEmailStatus:     `emailstatus personemailstatus`,
	tIndustry:        `industry companyindustry`,
	tHeadcount:       `headcount companyheadcount employees numberofemployees employeecount companysize`,
	tCompanyLocation: `companylocation`,
	tCompanyPhone:    `companyphone corporatephone`,
	tCompanyLinkedIn: `companylinkedin companylinkedinurl`,
	tAsOf:            `asof updated updatedat lastupdated lastmodified lastmodifieddate`,
}
