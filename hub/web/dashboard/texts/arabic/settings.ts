import type { settings as english } from '../english/settings.ts';
import { access } from './settings-access.ts';
import { ai } from './settings-ai.ts';
import { carriers } from './settings-carriers.ts';
import { chat } from './settings-chat.ts';
import { records } from './settings-records.ts';
import { webhooks } from './settings-webhooks.ts';

/** Texts of the settings pages. */
export const settings: typeof english = {
  missing: 'لا يوجد قسم بهذا الاسم في الإعدادات',
  groups: {
    workspace: 'مساحة العمل',
    chat: 'الدردشة المباشرة',
    automations: 'الأتمتة',
    calls: 'المكالمات',
    ai: 'الذكاء الاصطناعي',
    developers: 'للمطوّرين',
    records: 'السجلات',
  },
  sections: {
    profile: { title: 'ملفك الشخصي', text: 'اسمك وصورتك ولغتك وكلمة مرورك.' },
    members: { title: 'الأعضاء', text: 'من يمكنه تسجيل الدخول إلى مساحة العمل هذه، وما يُسمح له به.' },
    entitlements: { title: 'مساحة العمل', text: 'اسمها والمنتجات التي يمكنها استخدامها.' },
    chat: { title: 'الدردشة', text: 'مظهر الدردشة في موقعك، ومن يحق له استخدامها، ومتى تكون مفتوحة.' },
    'chat-ai': { title: 'الذكاء الاصطناعي في الدردشة', text: 'متى يجيب وكيل الذكاء الاصطناعي الزوار، وكيف.' },
    channels: { title: 'القنوات', text: 'تيليغرام وسلاك وواتساب والبريد الإلكتروني وخطافات الويب التي تنقل الرسائل.' },
    policy: { title: 'السياسة', text: 'قواعد لجميع عمليات التشغيل: الموافقات وساعات الهدوء والحدود ومدة الاحتفاظ.' },
    carriers: { title: 'شركات الهاتف وSIP', text: 'شركات تبلّغ بالمكالمات، وSIP للهواتف البرمجية.' },
    models: { title: 'نماذج الذكاء الاصطناعي', text: 'النماذج التي تجيب، والنموذج الذي يليها عند تعطل أحدها.' },
    'ai-usage': {
      title: 'استخدام الذكاء الاصطناعي وميزانيته',
      text: 'استدعاءات النماذج ورموزها وتكلفتها، والحد اليومي.',
    },
    tokens: { title: 'رموز API', text: 'مفاتيح تستدعي بها برامجك واجهة API.' },
    webhooks: { title: 'خطافات الويب', text: 'عناوين تملكها يرسل إليها المركز أحداث الدردشة.' },
    origins: { title: 'مصادر المتصفح', text: 'صفحات على مضيفين آخرين يُسمح لها باستدعاء مساحة العمل هذه.' },
    audit: { title: 'سجل التدقيق', text: 'من غيّر ماذا، ومتى.' },
    'usage-events': { title: 'أحداث الاستخدام', text: 'أحداث للفوترة خلال آخر 400 يوم.' },
  },
  back: '‹ جميع الإعدادات',
  actions: 'الإجراءات',
  adminsOnly: 'لا يفتح هذا القسم إلا المسؤولون',
  adminsOnlyText: 'اسأل مسؤولًا في مساحة العمل هذه إن كنت تحتاج إليه.',
  adminsChange: 'يمكنك قراءة هذا القسم. لا يغيّره إلا المسؤولون.',
  notEntitled: 'لا تتضمن مساحة العمل هذه: {product}',
  notEntitledText: 'يمكن لمشغّل هذا المركز إضافته.',
  unsaved: 'لديك تغييرات غير محفوظة.',
  unsavedTitle: 'هل تغادر دون حفظ؟',
  unsavedText: 'تغييراتك في هذه الصفحة غير محفوظة، وستضيع عند المغادرة.',
  stay: 'البقاء',
  leave: 'المغادرة دون حفظ',
  discard: 'تجاهل التغييرات',
  refusedFields: 'لم يُحفظ. يُرجى تصحيح: {fields}.',
  changedMeanwhile: 'غيّر شخص آخر هذا في هذه الأثناء. لم تُحفظ تغييراتك.',
  conflictFields: 'غيّرها شخص آخر وغيّرتها أنت: {fields}.',
  useTheirs: 'استخدام القيم الأخرى',
  keepMine: 'الإبقاء على قيمي',
  shownOnce: 'يُعرض هذا مرة واحدة فقط. احفظه الآن.',
  storedIt: 'حفظته',
  toNewest: 'العودة إلى الأحدث',
  view: 'العرض',
  form: 'نموذج',
  notJson: 'هذا النص ليس JSON بعد. يحتفظ النموذج بآخر نص صالح.',
  timeZone: 'المنطقة الزمنية',
  daysUnit: 'يوم',
  ...access,
  ...webhooks,
  ...chat,
  ...carriers,
  ...ai,
  ...records,
};
