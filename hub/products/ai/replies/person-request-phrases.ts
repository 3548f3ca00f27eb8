/** Phrases of one language that ask for a person. */
export interface PersonRequestPhrases {
  /** Code of the language. */
  language: string;
  /** Words of a request. Together with one of `people` in the same sentence they ask for a person. */
  verbs: readonly string[];
  people: readonly string[];
  /** Phrases that ask for a person by themselves. */
  phrases: readonly string[];
}

const words = (text: string) => text.split(', ');

/** Words are compared without case and accents. In languages without spaces, `phrases` also match inside words. */
export const personRequestPhrases: readonly PersonRequestPhrases[] = [
  {
    language: 'en',
    verbs: words(
      'talk, speak, chat, connect, transfer, reach, put me through, hand me over, i want, i need, give me, get me, can i have, let me',
    ),
    people: words(
      'human, a person, real person, actual person, live person, human being, agent, representative, rep, operator, someone real, somebody real, real human, your staff, a colleague, customer service, support person, supervisor, an advisor, an adviser',
    ),
    phrases: words(
      'speak to someone, talk to someone, talk to somebody, speak to somebody, speak with someone, talk with someone, not a bot, not a robot, live agent, human agent, human please, agent please, no more bot',
    ),
  },
  {
    language: 'de',
    verbs: words(
      'sprechen, reden, verbinden, verbinde, weiterleiten, schreiben, ich will, ich mochte, ich brauche, geben sie mir, gib mir, kann ich',
    ),
    people: words(
      'einem menschen, einen menschen, mensch, menschen, mitarbeiter, mitarbeiterin, echten person, echte person, einer person, kundenberater, berater, beraterin, kundendienst, sachbearbeiter, kollegen, jemand echtes',
    ),
    phrases: words(
      'mit jemandem sprechen, mit jemandem reden, kein bot, keinen bot, kein roboter, echter mensch, echten menschen, mensch bitte, mitarbeiter bitte',
    ),
  },
  {
    language: 'fr',
    verbs: words(
      'parler, discuter, echanger, joindre, contacter, passer, passez moi, je veux, je voudrais, je souhaite, transferer, transferez',
    ),
    people: words(
      "un humain, une personne, vraie personne, personne reelle, etre humain, un conseiller, une conseillere, un agent, un operateur, un employe, un responsable, le service client, quelqu'un de reel",
    ),
    phrases: words(
      "parler a quelqu'un, parler avec quelqu'un, pas un robot, pas un bot, agent humain, conseiller humain, vrai humain",
    ),
  },
  {
    language: 'es',
    verbs: words(
      'hablar, chatear, comunicar, comunicarme, contactar, pasame, paseme, quiero, quisiera, necesito, transferir, pongame, ponme',
    ),
    people: words(
      'un humano, una persona, persona real, ser humano, un agente, una agente, un asesor, una asesora, un operador, una operadora, un representante, un empleado, atencion al cliente',
    ),
    phrases: words('hablar con alguien, no un robot, no un bot, agente humano, agente real'),
  },
  {
    language: 'it',
    verbs: words('parlare, chattare, contattare, passami, mi passi, voglio, vorrei, ho bisogno'),
    people: words(
      "un umano, una persona, persona reale, persona vera, essere umano, un operatore, un'operatrice, un agente, un addetto, un consulente",
    ),
    phrases: words('parlare con qualcuno, operatore umano'),
  },
  {
    language: 'pt',
    verbs: words('falar, conversar, contactar, contatar, quero, queria, preciso, transferir, passa me'),
    people: words(
      'um humano, uma pessoa, pessoa real, ser humano, um atendente, uma atendente, um agente, um operador, um funcionario, um assistente humano',
    ),
    phrases: words('falar com alguem, atendente humano, atendimento humano'),
  },
  {
    language: 'nl',
    verbs: words('spreken, praten, chatten, doorverbinden, ik wil, ik moet, mag ik'),
    people: words('een mens, een medewerker, een persoon, echt persoon, echte persoon, een collega, klantenservice'),
    phrases: words('met iemand praten, iemand spreken, echt mens, geen robot'),
  },
  {
    language: 'pl',
    verbs: words('rozmawiac, porozmawiac, polaczyc, chce, chcialbym, chcialabym, prosze o'),
    people: words('z człowiekiem, z czlowiekiem, z konsultantem, konsultant, konsultanta, z osoba, z pracownikiem'),
    phrases: words('żywy człowiek, zywy czlowiek'),
  },
  {
    language: 'tr',
    verbs: words('konusmak, gorusmek, baglanmak, istiyorum, baglayin, baglar mısınız'),
    people: words(
      'bir insanla, gercek bir kisiyle, temsilciyle, musteri temsilcisi, musteri temsilcisiyle, yetkiliyle, temsilciye',
    ),
    phrases: words('canlı destek, canli destek'),
  },
  {
    language: 'ru',
    verbs: words('поговорить, говорить, соедините, соедини, хочу, нужен, нужна, переключите, позовите, свяжите'),
    people: words(
      'человеком, человек, человека, оператор, оператором, оператора, сотрудником, сотрудника, менеджером, менеджера, специалистом',
    ),
    phrases: words('живой человек, живым человеком, живого человека, живой оператор'),
  },
  {
    language: 'uk',
    verbs: words("поговорити, з’єднайте, з'єднайте, хочу, потрібен, потрібна"),
    people: words('людиною, людина, оператором, оператор, оператора, працівником, менеджером'),
    phrases: words('жива людина, живою людиною'),
  },
  {
    language: 'ar',
    verbs: words(
      'اريد, أريد, ابغى, أود, اود, التحدث, اتحدث, أتحدث, التكلم, اتكلم, أتكلم, حولني, تحويلي, ممكن, احتاج, أحتاج',
    ),
    people: words('شخص, شخص حقيقي, انسان, إنسان, موظف, موظفة, الموظف, خدمة العملاء, ممثل, مندوب, مسؤول, بشري'),
    phrases: words('موظف بشري, وكيل بشري, شخص حقيقي'),
  },
  {
    language: 'he',
    verbs: words('לדבר, רוצה, תעביר, תעבירו, צריך, צריכה'),
    people: words('נציג, נציגה, בן אדם, אדם, אדם אמיתי, מישהו אמיתי'),
    phrases: words('נציג אנושי, לדבר עם מישהו'),
  },
  {
    language: 'ja',
    verbs: [],
    people: [],
    phrases: words(
      '人間と話, 人と話, 人間に代わ, 人に代わ, 担当者と話, 担当者につない, 担当者に代わ, 担当の方, オペレーター, 有人対応, スタッフと話, 人間をお願い, 人間の担当',
    ),
  },
  {
    language: 'zh',
    verbs: [],
    people: [],
    phrases: words(
      '转人工, 轉人工, 人工客服, 人工服务, 人工服務, 真人客服, 真人对话, 找真人, 和真人, 跟真人, 与真人, 客服人员, 客服人員, 联系客服, 找客服, 和人说话, 跟人说话',
    ),
  },
  {
    language: 'ko',
    verbs: [],
    people: [],
    phrases: words('상담원, 상담사, 사람과 대화, 사람과 통화, 사람이랑, 직원 연결, 직원과, 실제 사람'),
  },
  {
    language: 'th',
    verbs: [],
    people: [],
    phrases: words('คุยกับเจ้าหน้าที่, คุยกับคน, ติดต่อเจ้าหน้าที่, คุยกับพนักงาน'),
  },
  {
    language: 'hi',
    verbs: words('बात, चाहिए, चाहता, चाहती'),
    people: words('इंसान, व्यक्ति, एजेंट, प्रतिनिधि, कर्मचारी'),
    phrases: words('इंसान से बात, किसी से बात'),
  },
  {
    language: 'vi',
    verbs: words('noi chuyen, gap, muon, ket noi, lien he'),
    people: words('nhan vien, nguoi that, con nguoi, tu van vien'),
    phrases: words('nguoi that'),
  },
  {
    language: 'id',
    verbs: words('bicara, berbicara, ingin, mau, hubungkan'),
    people: words('manusia, petugas, agen, orang asli, staf, cs manusia'),
    phrases: words('orang asli'),
  },
];
