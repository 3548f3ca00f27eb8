import type { PageLocale } from '../../../platform/http/pages/page-language.ts';

/** Texts of the pages with which people sign in and sign up. `{name}` is replaced by a value. */
export interface SignInWords {
  signInTitle: string;
  worksOnce: string;
  signIn: string;
  email: string;
  password: string;
  forgotPassword: string;
  withoutPassword: string;
  withoutPasswordText: string;
  createAccount: string;
  back: string;
  signUpTitle: string;
  signUpText: string;
  workspaceName: string;
  workspaceHint: string;
  passwordHint: string;
  passwordAgain: string;
  signUp: string;
  haveAccount: string;
  signedInAs: string;
  closedTitle: string;
  closedText: string;
  closedCommand: string;
  wrongPassword: string;
  wrongLink: string;
  tooManySignIns: string;
  otherSite: string;
  emailTaken: string;
  workspaceNameTaken: string;
  invalidEmail: string;
  invalidWorkspaceName: string;
  invalidPassword: string;
  passwordsDiffer: string;
}

const english: SignInWords = {
  signInTitle: 'Sign in to Outrigger',
  worksOnce: 'This link works once.',
  signIn: 'Sign in',
  email: 'Email',
  password: 'Password',
  forgotPassword: 'Forgot your password?',
  withoutPassword: 'Without a password',
  withoutPasswordText: 'A link that works once signs you in, too. Make one at the command line of the hub:',
  createAccount: 'Create an account',
  back: 'Back',
  signUpTitle: 'Create an account',
  signUpText:
    'You get a new workspace and are its admin. To join a workspace that exists, ask its admin for an invitation.',
  workspaceName: 'Name of the workspace',
  workspaceHint: 'For example your company or team. You can change it later.',
  passwordHint: 'At least 12 characters.',
  passwordAgain: 'Password again',
  signUp: 'Create account',
  haveAccount: 'Sign in with an account that you have',
  signedInAs: 'This browser is signed in as {email}. The new account replaces this sign-in.',
  closedTitle: 'Sign-up is closed',
  closedText:
    'On this hub, you cannot create an account yourself. Ask an admin of your workspace for an invitation link, or the operator of this hub for a workspace.',
  closedCommand: 'The operator creates a workspace and its admin at the command line of the hub:',
  wrongPassword: 'The email address or the password is wrong.',
  wrongLink: 'This sign-in link is wrong, used or expired; create a new one with: {command}',
  tooManySignIns: 'Too many sign-ins for this account; try again in {seconds} seconds, or use a sign-in link.',
  otherSite: 'The form must be sent from a page of this hub. Open this page again and fill it in.',
  emailTaken: 'This email address is already in use; sign in instead.',
  workspaceNameTaken: 'A workspace with this name already exists; choose another name.',
  invalidEmail: 'Enter an email address.',
  invalidWorkspaceName: 'The name of the workspace must have 1 to 200 characters, at least one of them visible.',
  invalidPassword: 'The password must have 12 to 256 characters.',
  passwordsDiffer: 'The two passwords differ; enter the same one twice.',
};

const german: SignInWords = {
  signInTitle: 'Bei Outrigger anmelden',
  worksOnce: 'Dieser Link funktioniert einmal.',
  signIn: 'Anmelden',
  email: 'E-Mail',
  password: 'Passwort',
  forgotPassword: 'Passwort vergessen?',
  withoutPassword: 'Ohne Passwort',
  withoutPasswordText:
    'Auch ein Link, der einmal funktioniert, meldet Sie an. Erstellen Sie ihn auf der Befehlszeile des Hubs:',
  createAccount: 'Konto erstellen',
  back: 'Zurück',
  signUpTitle: 'Konto erstellen',
  signUpText:
    'Sie erhalten einen neuen Arbeitsbereich, den Sie verwalten. Um einem bestehenden Arbeitsbereich beizutreten, bitten Sie dessen Admin um eine Einladung.',
  workspaceName: 'Name des Arbeitsbereichs',
  workspaceHint: 'Zum Beispiel Ihre Firma oder Ihr Team. Sie können ihn später ändern.',
  passwordHint: 'Mindestens 12 Zeichen.',
  passwordAgain: 'Passwort wiederholen',
  signUp: 'Konto erstellen',
  haveAccount: 'Mit einem bestehenden Konto anmelden',
  signedInAs: 'Dieser Browser ist als {email} angemeldet. Das neue Konto ersetzt diese Anmeldung.',
  closedTitle: 'Die Registrierung ist geschlossen',
  closedText:
    'Auf diesem Hub können Sie nicht selbst ein Konto erstellen. Bitten Sie einen Admin Ihres Arbeitsbereichs um einen Einladungslink oder den Betreiber dieses Hubs um einen Arbeitsbereich.',
  closedCommand: 'Der Betreiber erstellt einen Arbeitsbereich und dessen Admin auf der Befehlszeile des Hubs:',
  wrongPassword: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
  wrongLink: 'Dieser Anmeldelink ist falsch, benutzt oder abgelaufen. Erstellen Sie einen neuen mit: {command}',
  tooManySignIns:
    'Zu viele Anmeldungen für dieses Konto. Versuchen Sie es in {seconds} Sekunden erneut, oder verwenden Sie einen Anmeldelink.',
  otherSite:
    'Das Formular muss von einer Seite dieses Hubs gesendet werden. Öffnen Sie diese Seite erneut und füllen Sie sie aus.',
  emailTaken: 'Diese E-Mail-Adresse wird bereits verwendet. Melden Sie sich stattdessen an.',
  workspaceNameTaken: 'Ein Arbeitsbereich mit diesem Namen besteht bereits. Wählen Sie einen anderen Namen.',
  invalidEmail: 'Geben Sie eine E-Mail-Adresse ein.',
  invalidWorkspaceName: 'Der Name des Arbeitsbereichs muss 1 bis 200 Zeichen haben, davon mindestens ein sichtbares.',
  invalidPassword: 'Das Passwort muss 12 bis 256 Zeichen haben.',
  passwordsDiffer: 'Die beiden Passwörter sind verschieden. Geben Sie zweimal dasselbe ein.',
};

const arabic: SignInWords = {
  signInTitle: 'تسجيل الدخول إلى Outrigger',
  worksOnce: 'يعمل هذا الرابط مرة واحدة.',
  signIn: 'تسجيل الدخول',
  email: 'البريد الإلكتروني',
  password: 'كلمة المرور',
  forgotPassword: 'هل نسيت كلمة المرور؟',
  withoutPassword: 'بدون كلمة مرور',
  withoutPasswordText: 'يمكنك أيضًا تسجيل الدخول برابط يعمل مرة واحدة. أنشئه في سطر أوامر المركز:',
  createAccount: 'إنشاء حساب',
  back: 'رجوع',
  signUpTitle: 'إنشاء حساب',
  signUpText: 'تحصل على مساحة عمل جديدة وتكون مديرها. للانضمام إلى مساحة عمل موجودة، اطلب دعوة من مديرها.',
  workspaceName: 'اسم مساحة العمل',
  workspaceHint: 'مثل شركتك أو فريقك. يمكنك تغييره لاحقًا.',
  passwordHint: '12 حرفًا على الأقل.',
  passwordAgain: 'كلمة المرور مرة أخرى',
  signUp: 'إنشاء الحساب',
  haveAccount: 'تسجيل الدخول بحساب موجود',
  signedInAs: 'هذا المتصفح مسجّل الدخول باسم {email}. الحساب الجديد يحل محل هذا الدخول.',
  closedTitle: 'التسجيل مغلق',
  closedText:
    'لا يمكنك إنشاء حساب بنفسك على هذا المركز. اطلب رابط دعوة من مدير مساحة عملك، أو مساحة عمل من مشغّل هذا المركز.',
  closedCommand: 'ينشئ المشغّل مساحة عمل ومديرها في سطر أوامر المركز:',
  wrongPassword: 'البريد الإلكتروني أو كلمة المرور غير صحيحة.',
  wrongLink: 'رابط تسجيل الدخول هذا خاطئ أو مستخدم أو منتهي الصلاحية؛ أنشئ رابطًا جديدًا بالأمر: {command}',
  tooManySignIns: 'محاولات تسجيل دخول كثيرة جدًا لهذا الحساب؛ حاول مجددًا بعد {seconds} ثانية، أو استخدم رابط تسجيل دخول.',
  otherSite: 'يجب إرسال النموذج من صفحة لهذا المركز. افتح هذه الصفحة مجددًا واملأها.',
  emailTaken: 'عنوان البريد الإلكتروني هذا مستخدم بالفعل؛ سجّل الدخول بدلًا من ذلك.',
  workspaceNameTaken: 'توجد مساحة عمل بهذا الاسم؛ اختر اسمًا آخر.',
  invalidEmail: 'أدخل عنوان بريد إلكتروني.',
  invalidWorkspaceName: 'يجب أن يتكون اسم مساحة العمل من 1 إلى 200 حرف، أحدها مرئي على الأقل.',
  invalidPassword: 'يجب أن تتكون كلمة المرور من 12 إلى 256 حرفًا.',
  passwordsDiffer: 'كلمتا المرور مختلفتان؛ أدخل الكلمة نفسها مرتين.',
};

export const signInWords: Record<PageLocale, SignInWords> = { en: english, de: german, ar: arabic };

/** Replaces the placeholder of a text. */
export const withValue = (text: string, value: string): string => text.replace(/\{\w+\}/, () => value);
